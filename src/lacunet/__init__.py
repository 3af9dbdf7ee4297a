"""Lacunet: given data with holes, which Bayesian network, how many hidden states, how sure are we?

>>> import lacunet
>>> table = lacunet.load_dataset("carcinoma")
>>> print(lacunet.select(table, range(1, 5)).states)
3

Functions by task; see docstrings such as `help(lacunet.select)`:

  read tables       read_table, load_dataset, dataset_path, missing_as_state, simulate
  hidden classes    select, fit, forecast, score, LatentClassModel, LatentClassSelector
  any network       compare, read_network, read_model, random_model, BayesianNetworkModel
  learn a graph     learn_structure, find_hidden, learn_latent_tree, edge_certainty, Knowledge
  the evidence      log_evidence, log_evidence_bounds, information_criteria, compare_missing
  inspect a fit     fit_statistics, intervals, likelihood_ratio_test, em_traces, match_classes
  rows and cells    impute, Imputer, assign, log_likelihoods, anomalies, stack, StackedModel
  one column        Classifier
  covariates        class_regression, three_step
  groups, effects   compare_groups, add_direct_effects
  queries           query, most_probable, d_separated, cpdag, graph_distances
  save models       write_model, write_network, to_networkx, to_pgmpy
  show results      write_report, plots, paper_tables, write_tables
  compile ahead     warm_up

Results print as text or HTML, and convert to dataframes (`to_frame()`) and to JSON documents
(`to_dict()`). Deliberate errors are `LacunetError`. Estimators need scikit-learn.
`dir(lacunet)` lists every name.
"""

import ast
from importlib import import_module
from importlib.util import find_spec

from lacunet.deprecation import RENAMED, warn_renamed

__version__ = "0.2.0"


def _read_homes() -> dict[str, str]:
    """Read the module of each public name from the stub that type checkers use."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi")  # also from a zip file
    imports = (node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom))
    return dict(sorted((name.name, node.module) for node in imports for name in node.names))


_HOME = _read_homes()
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name on its first use, so that `import lacunet` stays fast."""
    if name in RENAMED:
        warn_renamed(f"`lacunet.{name}`", f"`lacunet.{RENAMED[name]}`")
        name = RENAMED[name]
    if name not in _HOME:
        raise AttributeError(f"module 'lacunet' has no attribute {name!r}")
    if _HOME[name] == __name__:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the available public names; estimators need scikit-learn."""
    without = "lacunet.estimators" if find_spec("sklearn") is None else ""
    return [*(name for name, home in _HOME.items() if home != without), "__version__"]
