"""Small data sets that come with the package."""

from dataclasses import replace
from pathlib import Path

from lacunet.data.read import read_table
from lacunet.data.table import Table
from lacunet.errors import OptionError

# Name of the column that holds the number of people behind a line, where there is one.
DATASETS: dict[str, str | None] = {
    "carcinoma": "count",
    "values": "count",
    "myocardial": "count",
    "survey": None,
}


def dataset_path(name: str) -> Path:
    """Give the path of a bundled CSV file."""
    if name not in DATASETS:
        raise OptionError(
            f"there is no bundled data set {name!r}. There are: {', '.join(DATASETS)}."
        )
    return Path(__file__).parent / "bundled" / f"{name}.csv"


def load_dataset(name: str) -> Table:
    """Read a bundled data set: carcinoma, values, myocardial or survey.

    >>> load_dataset("carcinoma").weight
    118.0
    """
    table = read_table(dataset_path(name), weights=DATASETS[name])
    return replace(table, source=f"bundled data set {name!r}")
