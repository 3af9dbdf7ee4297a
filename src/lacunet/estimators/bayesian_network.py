"""Bayesian networks, with or without hidden variables, for scikit-learn."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from operator import index
from typing import Any, SupportsIndex, TypeAlias

from lacunet import api
from lacunet.api.graphs import USUAL
from lacunet.data import Column, Table
from lacunet.data.discover import shown
from lacunet.data.kinds import AUTO, KindsLike
from lacunet.errors import DataError, ModelError, OptionError, did_you_mean
from lacunet.estimators.base import HiddenStateEstimator
from lacunet.estimators.inputs import FitInput, is_frame, names_of, read_fit, warn
from lacunet.estimators.parameters import Searching, worded_estimator
from lacunet.models.equivalence import GraphSketch
from lacunet.models.network import Model, Network, Variable
from lacunet.models.number_prior import GRAPH_NUMBERS, NumberPriorLike
from lacunet.models.prior import PAPER_ALPHA, Alpha
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener
from lacunet.structure.knowledge import Knowledge

GIVEN, LEARN = "given", "learn"  # where the structure comes from
Edges: TypeAlias = Sequence[Any]  # pairs of names: parent, child
Hidden: TypeAlias = Mapping[str, int | None] | Sequence[str]


@worded_estimator
@dataclass(eq=False, repr=False)
class BayesianNetworkModel(Searching, HiddenStateEstimator):
    """Bayesian network over the columns and over hidden variables.

    Other parameters and attributes are those of `LatentClassModel`. Numbers depend on categories
    and hidden variables, and cannot be parents: bin a number that has children. A fitted estimator
    holds the distinct rows of its table, in `fit_`.

    Parameters
    ----------
    network : None, list of (parent, child), graph, text, Network, Model, or path of a file
        The given structure. A text is a graph, 'class[3] -> A B C; A -> B': names that are not
        columns are hidden, with the number of states in brackets; other columns are not used.
        Edges (in a list, or those of a networkx or pgmpy graph) join columns of X and hidden
        variables by name; columns of an array are x0, x1, …; a column without edges is independent
        of the others. None: each column depends on all hidden variables, and on nothing else. A
        `Network` brings its own variables and states; columns of an array are then its observed
        variables in their order.
    hidden : mapping of str to int, or sequence of str
        Hidden variables with their numbers of states (default: those of the network).
    structure : {'given', 'learn'}
        'learn': the graph over the columns is learned from the data, complete or not, as by
        `learn_structure`; then `network` must be None, and there are no hidden variables.
    knowledge : Knowledge or path of its file, optional
        Constraints on a learned graph.
    alpha : float, str, mapping or None
        Prior: a Dirichlet exponent, 'k2', 'bdeu:SIZE', or a table for each family. None: the
        paper's exponent, or 'bdeu:0.5-10' for a learned structure.
    categories : 'auto', list or mapping
        States of the columns: one list for each column, or a mapping of some names to lists.
        'auto': the categories that a dataframe declares, or else the training values. Not used
        with a `Network`, which has states.

    Attributes
    ----------
    network_ : lacunet.Network
        The fitted structure.
    learned_ : Learned
        The result of structure learning, with its evidence; only if it was learned.
    tables_ : dict of str to ndarray
        p(variable | parents) of each variable: one axis for each parent, then its own states.
    numbers_ : dict of str to dict of str to ndarray
        Parameters of each number, by title, as 'mean' and 'sd': one axis for each parent.
    categories_ : dict of str to tuple
        States of each observed variable; none, (), of a number.

    Examples
    --------
    A hidden state behind each of two pairs of columns, the first a cause of the second:

    >>> import pandas as pd
    >>> from lacunet import BayesianNetworkModel, dataset_path
    >>> data = pd.read_csv(dataset_path("values"))
    >>> X, counts = data.drop(columns="count"), data["count"]
    >>> edges = [("f", "g"), ("f", "A"), ("f", "B"), ("g", "C"), ("g", "D")]
    >>> model = BayesianNetworkModel(edges, hidden={"f": 2, "g": 2}, random_state=0)
    >>> model.fit(X, sample_weight=counts).get_feature_names_out()
    array(['f0', 'f1', 'g0', 'g1'], dtype=object)
    >>> model.predict_proba(X[:2]).round(1)
    array([[1. , 0. , 1. , 0. ],
           [1. , 0. , 0.9, 0.1]])
    >>> model.impute(pd.DataFrame([[1, float("nan"), 1, 1]], columns=X.columns))
       A    B  C  D
    0  1  1.0  1  1

    A learned graph; `predict` and `transform` then impute missing cells:

    >>> learned = BayesianNetworkModel(structure="learn", random_state=0)
    >>> learned.fit(X, sample_weight=counts).network_.parents
    ((), (0,), (1, 3), (1,))
    """

    network: Any = None
    _: KW_ONLY
    hidden: Hidden | None = None
    structure: str = GIVEN
    knowledge: Knowledge | StrPath | None = None
    alpha: Alpha | None = None  # type: ignore[assignment]  # None: depends on `structure`
    kinds: KindsLike = AUTO
    number_prior: NumberPriorLike = GRAPH_NUMBERS

    _function = "compare"

    def _learn(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        self._check_structure()
        self._variables(X)
        settings = self._settings()
        text = isinstance(self.network, str | os.PathLike)
        if (sketch := api.as_sketch(self.network) if text else None) is not None:
            table, network = self._read_sketch(X, sample_weight, sketch)
            self._columns = [self._names.index(name) for name in api.observed_states(network)]
        elif isinstance(self.network, Network | Model | str | os.PathLike):
            network = api.as_network(self.network, self.hidden or ())
            table = self._read_known(X, sample_weight, network)
        else:
            table = self._read_all(X, sample_weight, self.kinds)
            network = api.as_network(self._structure(table, listener))
            self._columns = [self._names.index(name) for name in api.observed_states(network)]
            if self.structure == LEARN:
                settings = replace(settings, alpha=self.learned_.table_alpha)
        selection = api.compare(table, {"network": network}, settings=settings, listener=listener)
        self._keep(selection.candidates[0])
        self.numbers_ = {}
        for v in self.model_.network.variables:
            if not v.family.tabular:  # by title, for each parent configuration
                array = self.model_.table(v.name)
                parameters = v.summary(array.reshape(-1, array.shape[-1]))
                self.numbers_[v.name] = {
                    n: x.reshape(array.shape[:-1]) for n, x in parameters.items()
                }

    def _read_sketch(
        self, X: Any, sample_weight: Any, sketch: GraphSketch
    ) -> tuple[Table, Network]:
        """Read the columns of a text graph, and build its network."""
        every, hidden = self._variables(X), self.hidden or ()
        used = [name for name in every if name in sketch.names and name not in hidden]
        if not used:
            raise DataError(
                f"X shows no variable of the graph, {shown(sketch.names)}. Its columns are "
                f"{shown(every)}."
            )
        if unused := [name for name in every if name not in sketch.names]:
            warn(f"columns of X that the graph does not name are not used: {shown(unused)}.")
        table = self._read_columns(X, sample_weight, self.kinds, used)
        if self.missing_as_state:
            table = api.missing_as_state(table)
        prior = self._settings().numbers
        read = api.sketched(table.in_canonical_order, sketch, hidden, prior, every)
        return table, read.with_states(None)

    @property
    def _may_hide(self) -> bool:
        return self.structure != LEARN

    def _prior(self) -> Alpha:
        usual = USUAL.alpha if self.structure == LEARN else PAPER_ALPHA
        return usual if self.alpha is None else self.alpha

    def _structure(self, table: Table, listener: Listener) -> Network:
        """Learn the graph, or build it from edges."""
        if self.structure == GIVEN:
            given = self.network  # a list of edges, or a graph
            edges = None if given is None else list(getattr(given, "edges", given))
            return build_network(table.columns, edges, self.hidden)
        settings = self._settings()
        self.learned_ = api.learn_structure(
            table, knowledge=self.knowledge, settings=settings, listener=listener
        )
        return self.learned_.network

    def _check_structure(self) -> None:
        """Refuse contradictory parameters."""
        if self.structure not in (GIVEN, LEARN):
            raise OptionError(
                f"structure '{self.structure}' is not known. Choose {GIVEN}, {LEARN}."
            )
        if self.structure == LEARN and not (self.network is None and self.hidden is None):
            raise OptionError(
                "structure='learn' finds the graph over the columns. Leave out network and "
                "hidden, or give constraints as knowledge."
            )
        if self.structure == GIVEN and self.knowledge is not None:
            raise OptionError("knowledge is about a graph that is learned. Give structure='learn'.")

    @property
    def _places(self) -> Sequence[int]:
        return self._columns

    def _read_known(self, X: Any, sample_weight: Any, network: Network) -> Table:
        """Read the observed variables of a network, with its states."""
        known, drawn = api.observed_states(network), self._drawn_by
        written = [c.name for c in sorted(api.observed_columns(network), key=lambda c: c.place)]
        names = written if not is_frame(X) and X.shape[1] == len(known) else names_of(X)
        absent = [name for name in known if name not in names]
        if absent:
            raise DataError(
                f"X has no column for {shown(absent)}, which the network has. Its columns are "
                f"{shown(names)}. Add the absent columns (NaN is allowed), or declare them with "
                "hidden=."
            )
        unused = [name for name in names if name not in known and name not in drawn.names]
        if unused:
            warn(f"columns of X that the network does not show are not used: {shown(unused)}.")
        self._columns = [names.index(name) for name in known]
        states = list(known.values())
        settings = FitInput(list(known), states, self.unseen, columns=self._columns, drawn=drawn)
        return read_fit(X, sample_weight, settings)


def build_network(columns: Sequence[Column], edges: Edges | None, hidden: Hidden | None) -> Network:
    """Build a network from columns, hidden variables and edges.

    >>> a, b = Column("a", (0, 1)), Column("b", (0, 1, 2))
    >>> build_network([a, b], [("h", "a"), ("h", "b")], {"h": 3}).dimension
    11
    """
    sizes = _sizes(hidden, [column.name for column in columns])
    variables = [Variable(name, tuple(range(1, k + 1)), hidden=True) for name, k in sizes.items()]
    variables += [Variable(column.name, column.states, bins=column.bins) for column in columns]
    names = [v.name for v in variables]
    if edges is None:
        edges = [(h, column.name) for h in sizes for column in columns]
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in _checked(edges, names):
        parents[names.index(child)].append(names.index(parent))
    return Network.build(variables, parents)


def _sizes(hidden: Hidden | None, columns: Sequence[str]) -> dict[str, int]:
    """Check hidden variables and their numbers of states."""
    if hidden is None:
        return {}
    if not isinstance(hidden, Mapping):
        raise ModelError(
            f"hidden {hidden!r} gives no numbers of states. Give for example {{'h': 2}}."
        )
    for name, size in hidden.items():
        if name in columns:
            raise ModelError(f"'{name}' is hidden, and a column of X too. Rename one of them.")
        if not isinstance(size, SupportsIndex) or index(size) < 1:
            raise ModelError(
                f"hidden variable '{name}': {size!r} states. Give a whole number from 1 up."
            )
    return {name: index(size) for name, size in hidden.items() if size is not None}


def _checked(edges: Edges, names: Sequence[str]) -> list[tuple[str, str]]:
    for edge in edges:
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) != 2:
            raise ModelError(f"{edge!r} is not an edge. Give pairs: (parent, child).")
        for name in edge:
            if name not in names:
                hint = did_you_mean(str(name), names)
                raise ModelError(
                    f"edge {tuple(edge)!r}: {name!r} is neither a column of X nor a hidden "
                    f"variable.{hint} There are {shown(names)}."
                )
    return list(dict.fromkeys((parent, child) for parent, child in edges))
