"""Selections and their pages, made once for all tests."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from lacunet import api, load_dataset, write_report
from lacunet.data.table import Table
from lacunet.models.network import Network

sys.path.insert(0, str(Path(__file__).parent))
from report_cases import EVIL, evil_table, two_hidden, with_failures, with_nothing

collect_ignore = ["browser.py"]  # a program of its own


@dataclass(frozen=True)
class Page:
    selection: object
    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def selections():
    few = {"starts": 4, "threads": 1}
    quick = {**few, "quick": True}
    carcinoma = api.select(load_dataset("carcinoma"), range(1, 4), **few)
    network, data = two_hidden()
    other = Network.build(network.variables, [(), (), (0,), (0,), (1,), (1,)])
    wide = api.simulate(api.random_model(3, 40, leaf_states=3, seed=3), 150, missing_rate=0.05)
    noise = Table.from_codes(np.random.default_rng(0).integers(0, 2, (60, 4)))
    return {
        "carcinoma": carcinoma,
        "survey": api.select(load_dataset("survey"), [2, 3], **quick),
        "evil": api.select(evil_table(), range(1, 4), **quick),
        "failed": with_failures(carcinoma),
        "nothing": with_nothing(carcinoma),
        "one": api.select(noise, range(1, 3), **quick),
        "wide": api.select(wide, [2, 3], **quick),
        "sampled": api.select(
            load_dataset("myocardial"), [1, 2], scores="cs", evidence=True, **few
        ),
        "sizes": api.select(data, [1, 2], network=network, hidden=["health", "wealth"], **quick),
        "compare": api.compare(data, {EVIL: network, "other": other}, **quick),
    }


@pytest.fixture(scope="session")
def pages(selections, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: Page(selection, write_report(selection, folder / f"{name}.html"))
        for name, selection in selections.items()
    }
