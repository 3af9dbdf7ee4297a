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
    from lacunet import plots
    from lacunet.api import (
        Assignment,
        Scores,
        assign,
        compare,
        compare_missing,
        em_traces,
        fit,
        fit_statistics,
        information_criteria,
        intervals,
        learn_structure,
        likelihood_ratio_test,
        log_evidence,
        log_evidence_bounds,
        match_classes,
        missing_as_state,
        query,
        random_model,
        score,
        select,
        simulate,
    )
    from lacunet.data import Column, Table, dataset_path, load_dataset, read_table
    from lacunet.describe.bootstrap_test import RatioTest
    from lacunet.describe.em_traces import Traces
    from lacunet.describe.intervals import Intervals
    from lacunet.describe.statistics import FitStatistics
    from lacunet.errors import DataError, LacunetError, ModelError, OptionError, OutputError
    from lacunet.estimators import BayesianNetworkModel, LatentClassModel, LatentClassSelector
    from lacunet.evidence.measure import Measurement
    from lacunet.evidence.sandwich import Sandwich
    from lacunet.learn.fit import Fit
    from lacunet.model.formats import read_network, write_network
    from lacunet.model.formats.networkx_door import from_networkx, to_networkx
    from lacunet.model.formats.pgmpy_door import from_pgmpy, to_pgmpy
    from lacunet.model.formats.pyagrum_door import from_pyagrum, to_pyagrum
    from lacunet.model.modelfile import read_model, write_model
    from lacunet.model.network import Model, Network, Variable
    from lacunet.report.page import write_report
    from lacunet.scores import Evidence
    from lacunet.search.average import Labellings
    from lacunet.search.candidates import Candidate, Selection
    from lacunet.search.hole_readings import MissingComparison

__version__ = "0.1.0"

# Where each public name lives; it is imported on first use, so that `import lacunet` stays fast.
_HOMES = {
    "lacunet.api": (
        "Assignment",
        "Scores",
        "assign",
        "compare",
        "compare_missing",
        "em_traces",
        "fit",
        "fit_statistics",
        "information_criteria",
        "intervals",
        "learn_structure",
        "likelihood_ratio_test",
        "log_evidence",
        "log_evidence_bounds",
        "match_classes",
        "missing_as_state",
        "query",
        "random_model",
        "score",
        "select",
        "simulate",
    ),
    "lacunet.data": ("Column", "Table", "dataset_path", "load_dataset", "read_table"),
    "lacunet.errors": ("DataError", "LacunetError", "ModelError", "OptionError", "OutputError"),
    "lacunet.estimators": ("BayesianNetworkModel", "LatentClassModel", "LatentClassSelector"),
    "lacunet.evidence.measure": ("Measurement",),
    "lacunet.evidence.sandwich": ("Sandwich",),
    "lacunet.learn.fit": ("Fit",),
    "lacunet.describe.intervals": ("Intervals",),
    "lacunet.describe.bootstrap_test": ("RatioTest",),
    "lacunet.describe.statistics": ("FitStatistics",),
    "lacunet.describe.em_traces": ("Traces",),
    "lacunet.model.formats": ("read_network", "write_network"),
    "lacunet.model.formats.networkx_door": ("from_networkx", "to_networkx"),
    "lacunet.model.formats.pgmpy_door": ("from_pgmpy", "to_pgmpy"),
    "lacunet.model.formats.pyagrum_door": ("from_pyagrum", "to_pyagrum"),
    "lacunet.model.modelfile": ("read_model", "write_model"),
    "lacunet.model.network": ("Model", "Network", "Variable"),
    "lacunet.report.page": ("write_report",),
    "lacunet.scores": ("Evidence",),
    "lacunet.search.average": ("Labellings",),
    "lacunet.search.candidates": ("Candidate", "Selection"),
    "lacunet.search.hole_readings": ("MissingComparison",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Assignment",
    "BayesianNetworkModel",
    "Candidate",
    "Column",
    "DataError",
    "Evidence",
    "Fit",
    "FitStatistics",
    "Intervals",
    "Labellings",
    "LacunetError",
    "LatentClassModel",
    "LatentClassSelector",
    "Measurement",
    "MissingComparison",
    "Model",
    "ModelError",
    "Network",
    "OptionError",
    "OutputError",
    "RatioTest",
    "Sandwich",
    "Scores",
    "Selection",
    "Table",
    "Traces",
    "Variable",
    "assign",
    "compare",
    "compare_missing",
    "dataset_path",
    "em_traces",
    "fit",
    "fit_statistics",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "information_criteria",
    "intervals",
    "learn_structure",
    "likelihood_ratio_test",
    "load_dataset",
    "log_evidence",
    "log_evidence_bounds",
    "match_classes",
    "missing_as_state",
    "plots",
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
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "plots":
        return import_module("lacunet.plots")
    raise AttributeError(f"module 'lacunet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
