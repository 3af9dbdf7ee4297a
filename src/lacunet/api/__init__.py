"""The Python interface: one function for each task of the command line, without arithmetic.

Start with `select`, `fit`, `learn_structure` and `impute`. `data` is a `Table`, or anything that
`read_table` reads: the path of a file, a dataframe (pandas, Polars, PyArrow), a NumPy array. A
network or model may be given as the path of its file.
"""

from lacunet.api.answers import Answer, MostProbable, NumberAnswer, Separations
from lacunet.api.assigning import anomalies, assign, draw, log_likelihoods, random_model, simulate
from lacunet.api.describe import (
    em_traces,
    fit_statistics,
    information_criteria,
    intervals,
    intervals_of,
    match_classes,
    paper_tables,
)
from lacunet.api.fitting import (
    add_direct_effects,
    class_regression,
    covariate_kinds,
    fit,
    read_covariates,
    score,
)
from lacunet.api.forecasting import forecast, warm_up
from lacunet.api.graphs import (
    check_edges,
    cpdag,
    edge_certainty,
    edge_f1,
    find_hidden,
    graph_distances,
    learn_latent_tree,
    learn_structure,
    structural_hamming_distance,
)
from lacunet.api.grouping import compare_groups, read_groups
from lacunet.api.imputing import Imputation, impute
from lacunet.api.inputs import (
    as_model,
    as_network,
    as_table,
    covariates_of,
    fresh_names,
    given_covariates,
    listed,
    not_shown,
    notes_on_columns,
    observed_columns,
    observed_states,
    prediction_model,
    read_predictive,
    table_for,
    to_vary,
)
from lacunet.api.measuring import (
    compare_missing,
    likelihood_ratio_test,
    log_evidence,
    log_evidence_bounds,
    missing_as_state,
)
from lacunet.api.queries import (
    answer,
    d_separated,
    most_probable,
    query,
    separations,
)
from lacunet.api.results import Assigned, Assignment, Scores
from lacunet.api.selecting import compare, select
from lacunet.api.stacking import rows_in_order, rows_to_score, stack
from lacunet.api.steps import three_step
from lacunet.api.structure import (
    as_sketch,
    edges_given,
    sketched,
    structured,
    structures,
    table_with_model,
)
