"""The Python interface: one function for each thing that the command line does, no arithmetic.

`data` is always a `Table`, or anything that `read_table` reads: the path of a file, a dataframe
(pandas, Polars, PyArrow), a NumPy array. A network or model may be given as the path of its file.
"""

from lacunet.api.asking import assign as assign, query as query
from lacunet.api.describe import (
    fit_statistics as fit_statistics,
    information_criteria as information_criteria,
    intervals as intervals,
    match_classes as match_classes,
)
from lacunet.api.drawing import draw as draw, random_model as random_model, simulate as simulate
from lacunet.api.fitting import fit as fit, score as score
from lacunet.api.graphs import (
    learn_structure as learn_structure,
    with_parameters as with_parameters,
)
from lacunet.api.inputs import (
    as_model as as_model,
    as_network as as_network,
    as_table as as_table,
    fresh_names as fresh_names,
    observed_columns as observed_columns,
    observed_states as observed_states,
    table_for as table_for,
    to_vary as to_vary,
)
from lacunet.api.measuring import (
    log_evidence as log_evidence,
    log_evidence_bounds as log_evidence_bounds,
)
from lacunet.api.missing import (
    compare_missing as compare_missing,
    missing_as_state as missing_as_state,
    table_with_model as table_with_model,
)
from lacunet.api.ratio_test import likelihood_ratio_test as likelihood_ratio_test
from lacunet.api.results import Assigned as Assigned, Assignment as Assignment, Scores as Scores
from lacunet.api.selecting import compare as compare, select as select, structures as structures
from lacunet.api.traces import em_traces as em_traces
