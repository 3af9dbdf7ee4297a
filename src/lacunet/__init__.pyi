# The public names, and where they live. This is the only list: `__init__.py` reads it too.

from lacunet import plots as plots
from lacunet.api import (
    Assignment as Assignment,
    Imputation as Imputation,
    MostProbable as MostProbable,
    Scores as Scores,
    add_direct_effects as add_direct_effects,
    anomalies as anomalies,
    assign as assign,
    class_regression as class_regression,
    compare as compare,
    compare_groups as compare_groups,
    compare_missing as compare_missing,
    cpdag as cpdag,
    d_separated as d_separated,
    edge_certainty as edge_certainty,
    edge_f1 as edge_f1,
    em_traces as em_traces,
    find_hidden as find_hidden,
    fit as fit,
    fit_statistics as fit_statistics,
    forecast as forecast,
    graph_distances as graph_distances,
    impute as impute,
    information_criteria as information_criteria,
    intervals as intervals,
    learn_latent_tree as learn_latent_tree,
    learn_structure as learn_structure,
    likelihood_ratio_test as likelihood_ratio_test,
    log_evidence as log_evidence,
    log_evidence_bounds as log_evidence_bounds,
    log_likelihoods as log_likelihoods,
    match_classes as match_classes,
    missing_as_state as missing_as_state,
    most_probable as most_probable,
    paper_tables as paper_tables,
    query as query,
    random_model as random_model,
    score as score,
    select as select,
    simulate as simulate,
    stack as stack,
    structural_hamming_distance as structural_hamming_distance,
    three_step as three_step,
    warm_up as warm_up,
)
from lacunet.data.read import dataset_path as dataset_path, load_dataset as load_dataset
from lacunet.data.read import read_table as read_table
from lacunet.data.table import Column as Column, Table as Table
from lacunet.summaries.ratio_tests import RatioTest as RatioTest
from lacunet.summaries.em_traces import Traces as Traces
from lacunet.summaries.intervals import Intervals as Intervals
from lacunet.summaries.statistics import FitStatistics as FitStatistics
from lacunet.summaries.coefficients import Coefficients as Coefficients
from lacunet.summaries.three_steps import Outcome as Outcome
from lacunet.summaries.three_steps import ThreeStep as ThreeStep
from lacunet.errors import (
    DataError as DataError,
    LacunetError as LacunetError,
    ModelError as ModelError,
    OptionError as OptionError,
    OutputError as OutputError,
    UnknownOptionError as UnknownOptionError,
    WorkerError as WorkerError,
)
from lacunet.estimators import (
    BayesianNetworkModel as BayesianNetworkModel,
    Classifier as Classifier,
    Imputer as Imputer,
    LatentClassModel as LatentClassModel,
    LatentClassSelector as LatentClassSelector,
    LatentTreeModel as LatentTreeModel,
    StackedModel as StackedModel,
)
from lacunet.evidence.estimate import Measurement as Measurement
from lacunet.evidence.consistency import Sandwich as Sandwich
from lacunet.structure.learned import GraphDistances as GraphDistances
from lacunet.structure.hidden.latent_tree import LatentTree as LatentTree
from lacunet.structure.knowledge import Knowledge as Knowledge
from lacunet.structure.learned import Learned as Learned
from lacunet.structure.edges.certainty import EdgeCertainty as EdgeCertainty
from lacunet.fitting.fit import Fit as Fit
from lacunet.models.ensemble import Ensemble as Ensemble, Member as Member
from lacunet.models.equivalence import EquivalenceClass as EquivalenceClass
from lacunet.models.formats import (
    read_model as read_model,
    read_model_or_stack as read_model_or_stack,
    read_network as read_network,
    write_model as write_model,
    write_network as write_network,
    write_stack as write_stack,
)
from lacunet.models.formats.interop import (
    from_networkx as from_networkx,
    to_networkx as to_networkx,
)
from lacunet.models.formats.interop import from_pgmpy as from_pgmpy, to_pgmpy as to_pgmpy
from lacunet.models.formats.interop import (
    from_pyagrum as from_pyagrum,
    to_pyagrum as to_pyagrum,
)
from lacunet.models.network import Model as Model, Network as Network, Variable as Variable
from lacunet.report.page import write_report as write_report
from lacunet.report.tables_file import write_tables as write_tables
from lacunet.scores import Evidence as Evidence
from lacunet.selection.average import Labellings as Labellings
from lacunet.selection.forecasting import Forecast as Forecast
from lacunet.selection.candidates import Candidate as Candidate
from lacunet.selection.result import Selection as Selection
from lacunet.selection.certainty import (
    Certainty as Certainty,
    CertaintyBasis as CertaintyBasis,
    Factor as Factor,
)
from lacunet.selection.effects import DirectEffects as DirectEffects
from lacunet.selection.group_comparison import GroupComparison as GroupComparison
from lacunet.selection.hidden_comparison import HiddenStructure as HiddenStructure
from lacunet.selection.missing_comparison import MissingComparison as MissingComparison
from lacunet.selection.misfit import (
    Alternative as Alternative,
    Departure as Departure,
    Misfit as Misfit,
)
from lacunet.selection.paper_tables import PaperTables as PaperTables
from lacunet.selection.covariates import ClassRegression as ClassRegression
from lacunet.selection.ensembles import CellStack as CellStack
from lacunet.selection.ensembles import Stack as Stack
from lacunet.settings import (
    ComputeSettings as ComputeSettings,
    EvidenceSettings as EvidenceSettings,
    GraphSettings as GraphSettings,
    SearchSettings as SearchSettings,
    Settings as Settings,
)
from lacunet.api.options import ReadSettings as ReadSettings, SurveySettings as SurveySettings

__version__: str
