"""Small data sets that come with the package."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from lacunet.data.read import read_table
from lacunet.data.table import Table
from lacunet.errors import OptionError

# How each is read: the column that holds the number of people behind a line, or the design.
DATASETS: dict[str, dict[str, Any]] = {
    "carcinoma": {"weights": "count"},
    "values": {"weights": "count"},
    "myocardial": {"weights": "count"},
    "survey": {},
    "fear": {"weights": "count"},
    "gss82": {"weights": "count"},
    "trust": {
        "weights": "weight",
        "strata": "region",
        "clusters": "town",
        "missing": ["refused"],
        "exclude": ["id", "sex", "age", "education", "satisfaction", "votes"],
    },
}


def dataset_path(name: str) -> Path:
    """Give the path of a bundled CSV file."""
    if name not in DATASETS:
        raise OptionError(
            f"there is no bundled data set {name!r}. There are: {', '.join(DATASETS)}."
        )
    return Path(__file__).parent / "bundled" / f"{name}.csv"


def load_dataset(name: str) -> Table:
    """Read a bundled data set: carcinoma, values, myocardial, fear, gss82, survey or trust.

    >>> load_dataset("carcinoma").weight
    118.0
    """
    table = read_table(dataset_path(name), **DATASETS[name])
    return replace(table, source=f"bundled data set {name!r}")
