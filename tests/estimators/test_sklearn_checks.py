"""scikit-learn's own checks, all of them.

Settings are the usual ones, but for few starts and quick selections. `make checks`
(LACUNET_CHECKS=full) has the usual selections, and estimators that learn dozens of models.
Rows of weight 0 are left out, so one check predicts values that `fit` never saw: these count as
missing, with a warning.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils import estimator_checks as checks

from lacunet import (
    BayesianNetworkModel,
    Classifier,
    Imputer,
    LatentClassModel,
    LatentClassSelector,
    LatentTreeModel,
    StackedModel,
)

pytestmark = [
    pytest.mark.slow,  # each takes a moment; there are hundreds
    pytest.mark.filterwarnings("ignore:2 is the largest number that was tried"),
]

FEW = {"n_init": 2}
FULL = os.environ.get("LACUNET_CHECKS") == "full"
QUICK = FEW if FULL else {"quick": True, **FEW}  # no check depends on measured evidence
ESTIMATORS = [
    LatentClassModel(**FEW),
    LatentClassSelector((1, 2), **QUICK),
    BayesianNetworkModel(None, hidden={"g": 2, "h": 2}, **FEW),
    BayesianNetworkModel(structure="learn", **FEW),
]
if FULL:
    tree, stack = LatentTreeModel(bin=2, **FEW), StackedModel(folds=2, n_jobs=1)
    ESTIMATORS += [Classifier(), Imputer(), tree, stack]
AVERAGED = LatentClassSelector((1, 2), average=True, **FEW)
# Checks of names and of set_output that scikit-learn runs on its own estimators besides.
MORE = [
    checks.check_dataframe_column_names_consistency,
    checks.check_get_feature_names_out_error,
    checks.check_global_output_transform_pandas,
    checks.check_global_set_output_transform_polars,
    checks.check_inplace_ensure_writeable,
    checks.check_set_output_transform,
    checks.check_set_output_transform_pandas,
    checks.check_set_output_transform_polars,
    checks.check_transformer_get_feature_names_out,
    checks.check_transformer_get_feature_names_out_pandas,
]
# Many checks hand over a handful of random rows.
few_rows = pytest.mark.filterwarnings(
    "ignore:(column .*(has only one|holds numbers|is not among)|X has 2 columns):UserWarning"
)


@few_rows
@checks.parametrize_with_checks(ESTIMATORS)
def test_what_every_estimator_must_do(estimator, check):
    check(estimator)


@few_rows
@pytest.mark.filterwarnings("ignore:X (does not have|has).* feature names:UserWarning")
@pytest.mark.parametrize("check", MORE, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    # What an imputer gives of a dataframe is one, whatever `set_output` says: see its own tests.
    "estimator",
    [ESTIMATORS[0], *([AVERAGED] if FULL else []), *ESTIMATORS[2:4]],
    ids=lambda e: type(e).__name__,
)
def test_checks_of_scikit_learns_own_estimators(estimator, check):
    check(type(estimator).__name__, estimator)


def test_the_check_that_must_be_switched_on():
    """It skips itself unless SciPy was imported with this variable set."""
    program = """
from sklearn.utils.estimator_checks import check_array_api_input
from test_sklearn_checks import ESTIMATORS
for estimator in ESTIMATORS:
    check_array_api_input(
        type(estimator).__name__, estimator, "numpy", expect_only_array_outputs=False
    )
print(len(ESTIMATORS), "checked")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.strip() == f"{len(ESTIMATORS)} checked", done.stderr
