"""Lacunet: given data with holes, which Bayesian network, how many hidden states, how sure are we?

>>> import lacunet
>>> table = lacunet.load_dataset("carcinoma")
>>> print(lacunet.select(table, range(1, 5)).states)
3
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacunet.api import (
        Assignment,
        Scores,
        assign,
        compare,
        fit,
        learn_structure,
        query,
        random_model,
        score,
        select,
        simulate,
    )
    from lacunet.data import Column, Table, dataset_path, load_dataset, read_table
    from lacunet.errors import DataError, LacunetError, ModelError, OptionError, OutputError
    from lacunet.learn.fit import Fit
    from lacunet.model.formats import read_network, write_network
    from lacunet.model.formats.networkx_door import from_networkx, to_networkx
    from lacunet.model.formats.pgmpy_door import from_pgmpy, to_pgmpy
    from lacunet.model.formats.pyagrum_door import from_pyagrum, to_pyagrum
    from lacunet.model.modelfile import read_model, write_model
    from lacunet.model.network import Model, Network, Variable
    from lacunet.scores import Evidence
    from lacunet.search.average import Labellings
    from lacunet.search.candidates import Candidate, Selection

__version__ = "0.1.0"

# Where each public name lives; it is imported on first use, so that `import lacunet` stays fast.
_HOMES = {
    "lacunet.api": (
        "Assignment",
        "Scores",
        "assign",
        "compare",
        "fit",
        "learn_structure",
        "query",
        "random_model",
        "score",
        "select",
        "simulate",
    ),
    "lacunet.data": ("Column", "Table", "dataset_path", "load_dataset", "read_table"),
    "lacunet.errors": ("DataError", "LacunetError", "ModelError", "OptionError", "OutputError"),
    "lacunet.learn.fit": ("Fit",),
    "lacunet.model.formats": ("read_network", "write_network"),
    "lacunet.model.formats.networkx_door": ("from_networkx", "to_networkx"),
    "lacunet.model.formats.pgmpy_door": ("from_pgmpy", "to_pgmpy"),
    "lacunet.model.formats.pyagrum_door": ("from_pyagrum", "to_pyagrum"),
    "lacunet.model.modelfile": ("read_model", "write_model"),
    "lacunet.model.network": ("Model", "Network", "Variable"),
    "lacunet.scores": ("Evidence",),
    "lacunet.search.average": ("Labellings",),
    "lacunet.search.candidates": ("Candidate", "Selection"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Assignment",
    "Candidate",
    "Column",
    "DataError",
    "Evidence",
    "Fit",
    "Labellings",
    "LacunetError",
    "Model",
    "ModelError",
    "Network",
    "OptionError",
    "OutputError",
    "Scores",
    "Selection",
    "Table",
    "Variable",
    "assign",
    "compare",
    "dataset_path",
    "fit",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "learn_structure",
    "load_dataset",
    "query",
    "random_model",
    "read_model",
    "read_network",
    "read_table",
    "score",
    "select",
    "simulate",
    "to_networkx",
    "to_pgmpy",
    "to_pyagrum",
    "write_model",
    "write_network",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'lacunet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
