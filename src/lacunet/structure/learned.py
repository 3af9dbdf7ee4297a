"""The result of structure learning: a graph, its evidence, and its sensitivity to the prior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.evidence.estimate import Measurement
from lacunet.fitting.diagnose import Variational
from lacunet.flags import Flag, Kind
from lacunet.models.equivalence import EquivalenceClass, edge_f1, structural_hamming_distance
from lacunet.models.network import Model, Network
from lacunet.models.prior import Alpha, describe_alpha
from lacunet.runtime.arrays import BoolArray
from lacunet.structure.diagnostics import BetweenNumbers, Missingness
from lacunet.structure.families import MEANINGS, GraphPrior, is_averaged
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.searching import GraphScore
from lacunet.tabular import Columns, Documented, Grid, Printable, described, number, transposed

MOST_NAMED = 3  # edges named in a message
TOO_MANY = 1.5  # flag a graph with so many times the edges under the default prior,
MORE = 5  # and at least so many more


@dataclass(frozen=True)
class EdgeSensitivity(Documented):
    """Edges that depend on the prior: present under one, absent under another."""

    KEYS = "alphas differ usual"

    alphas: tuple[float | str, ...]  # half and twice the exponents, or the size
    differ: tuple[tuple[tuple[str, str], ...], ...]  # edges gained or lost under each
    completed: bool  # whether missing values were imputed first
    usual: int | None = None  # edges under the default prior, if this is another

    def __str__(self) -> str:
        rows = " on completed rows" if self.completed else ""
        which = dict.fromkeys(edge for edges in self.differ for edge in edges)
        named = ", ".join(f"{u} – {v}" for u, v in [*which][:MOST_NAMED])
        more = ", …" if len(which) > MOST_NAMED else ""
        numbers = " and ".join(str(len(edges)) for edges in self.differ)
        changed = f"{numbers} edges differ ({named}{more})" if which else "no edge differs"
        return f"With half and twice the prior's exponents{rows}: {changed}."

    def flags(self, edges: int) -> tuple[Flag, ...]:
        """Flag a graph with far more edges than under the default prior."""
        if self.usual is None or edges < max(TOO_MANY * self.usual, self.usual + MORE):
            return ()
        return (Flag(Kind.MANY_EDGES, detail={"edges": edges, "usual": self.usual}),)


NOTHING = Knowledge()
ARROWS = "→: as in every graph with the same independences{known}; —: can point either way."
DECIDED = {
    GraphScore.AVAILABLE: "available cases alone: each move scored on the rows complete for it",
    GraphScore.EXPECTED: "expected counts alone: rows completed under the graph before",
}


@dataclass(frozen=True, eq=False, repr=False)
class Learned(Printable):
    """The best graph found, with its posterior."""

    KEYS = (
        "log_evidence graph_prior log_prior complete score csl finalists bounds exact steps "
        "families_scored=scored graphs_fitted=fitted measured parents=network.parent_names "
        "compelled=equivalence_class.compelled reversible=equivalence_class.reversible "
        "between_numbers?=between sensitivity missing=missingness flags"
    )

    posterior: Variational  # of parameters and missing values
    alpha: float | str  # the prior, as given
    families: tuple[float, ...]  # log BD of (expected) counts by variable
    scored: int  # families scored
    averaging: float = 0.0  # gain in `log_evidence` by averaging over sample sizes
    graph_prior: GraphPrior = GraphPrior.UNIFORM
    log_prior: float = 0.0  # log p(S) of the graph, up to a constant
    known: Knowledge = NOTHING  # constraints on the graph
    steps: int = 0  # moves made, over all climbs
    exact: bool = False  # whether this is the best of all allowed graphs
    # With missing values:
    score: GraphScore = GraphScore.BOUND  # the criterion of the search
    csl: float | None = None  # log p(D|S) by the score CSL; None if it does not exist
    measured: Measurement | None = None  # estimate of log p(D|S) by sampling, if requested
    bounds: tuple[float, ...] = ()  # of each accepted graph, with log p(S)
    fitted: int = 0  # graphs fitted
    finalists: int = 1  # graphs with nearly the same bound, compared by CSL or measured evidence
    between: BetweenNumbers | None = None  # unexplained dependence; None without two numbers
    missingness: Missingness | None = None  # tests of missingness; None: few values are missing
    sensitivity: EdgeSensitivity | None = None  # to the prior
    flags: tuple[Flag, ...] = ()

    @cached_property
    def model(self) -> Model:
        """The graph with posterior means of the parameters."""
        return self.posterior.model

    @property
    def network(self) -> Network:
        """The graph."""
        return self.posterior.problem.network

    @property
    def table_alpha(self) -> Alpha:
        """The prior of the tables: one exponent array each if sample sizes were averaged over."""
        if not is_averaged(self.alpha):
            return self.alpha
        problem = self.posterior.problem
        return {
            v.name: problem.layout.table(problem.alpha, i) if v.family.tabular else 1.0
            for i, v in enumerate(self.network.variables)
        }

    @property
    def parents(self) -> BoolArray:
        """(n, n) whether u is a parent of v, at [v, u]."""
        n = len(self.network.variables)
        return np.array([np.isin(np.arange(n), parents) for parents in self.network.parents])

    @property
    def log_evidence(self) -> float:
        """Log p(D|S): exact without missing values, else a lower bound."""
        return self.posterior.bound + self.averaging

    @property
    def log_joint(self) -> float:
        """Log p(D|S) + log p(S), up to a constant: the criterion for graphs."""
        return self.log_evidence + self.log_prior

    @property
    def complete(self) -> bool:
        """Whether no value is missing, so that the evidence is exact."""
        return not self.bounds

    @property
    def log_bd(self) -> float:
        """Log BD of complete data, the same as `log_evidence`."""
        return self.log_evidence

    @cached_property
    def equivalence_class(self) -> EquivalenceClass:
        """All graphs with the same independences that satisfy the constraints."""
        return self.known.equivalence_class(self.network)

    def tidy(self) -> Columns:
        """Return a row for each edge."""
        names, sure = [v.name for v in self.network.variables], {*self.equivalence_class.compelled}
        edges = [(names[p], names[i]) for i in self.network.shown for p in self.network.parents[i]]
        rows = [(*edge, edge in sure) for edge in edges]
        return transposed(("parent", "child", "compelled"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`."""
        names = [v.name for v in self.network.variables]
        families = dict(zip(names, self.families, strict=True))
        return described(self, self.KEYS, families=families)

    def grids(self) -> Sequence[Grid]:
        """Return the tables that `print` and notebooks show."""
        network, names = self.network, [v.name for v in self.network.variables]
        sure, rows = {*self.equivalence_class.compelled}, []
        for i in network.shown:
            parents = [names[p] for p in network.parents[i]]
            arrows = (f"{p} {'→' if (p, names[i]) in sure else '—'}" for p in parents)
            rows.append((names[i], ", ".join(arrows) or "–", number(self.families[i])))
        edges = sum(map(len, network.parents))
        what = "= {:.4f} (BD, exact)" if self.complete else "≥ {:.4f} (variational bound)"
        left_out = self.between is not None and bool(self.between.unexplained)
        without = ", none of them between numbers" if left_out else ""
        title = f"log p(D|S) {what.format(self.log_evidence)}; {edges} edges{without}"
        notes = (
            ARROWS.format(known=" under the constraints" if self.known.orients else ""),
            f"Prior: {describe_alpha(self.alpha)}; of graphs, {MEANINGS[self.graph_prior]}.",
            f"{self._way()}; {self.scored:,} families scored.",
            *self._evidence(),
            *([str(self.sensitivity)] if self.sensitivity else []),
            *([str(self.missingness)] if self.missingness and not self.missingness.flags else []),
            *([str(self.between)] if self.between and not left_out else []),
            *(f"- {flag}" for flag in self.flags if flag.kind is not Kind.BETWEEN_NUMBERS),
        )
        families = Grid(
            title, ("variable", "parents", "log BD"), tuple(rows), frozenset({0, 1}), notes
        )
        return [*self.warnings(), families]

    def warnings(self) -> list[Grid]:
        """Collect warnings that qualify the graph, to be shown before it."""
        first = [f"Warning: {f}." for f in self.flags if f.kind is Kind.BETWEEN_NUMBERS]
        return [Grid("", notes=tuple(first))] if first else []

    def brief(self) -> str:
        """Summarise the result in one line."""
        return self.grids()[-1].title

    def _way(self) -> str:
        """Describe the search."""
        if self.complete:
            return "The best of all graphs" if self.exact else f"{self.steps:,} moves"
        if self.score is not GraphScore.BOUND:
            return f"Decided by {DECIDED[self.score]}"
        times, nats = len(self.bounds) - 1, self.bounds[-1] - self.bounds[0]
        return f"{self.fitted} graphs fitted, bound raised {times} times, by {nats:.1f} nats"

    def _evidence(self) -> Iterator[str]:
        """Describe the evidence, and the criterion between graphs with close bounds."""
        if self.csl is not None:
            yield f"log p(D|S) ≈ {self.csl:.2f} by CSL, an approximation."
        if self.measured is not None:
            by = f"{self.measured.method}, {self.measured.verdict}"
            yield f"log p(D|S) = {self.measured.value:.2f}{self.measured.error}, measured ({by})."
        if self.finalists > 1:
            criterion = "measured evidence" if self.measured else "CSL" if self.csl else "the bound"
            yield f"Best by {criterion} of {self.finalists} graphs whose bounds are close."


@dataclass(frozen=True, repr=False)
class GraphDistances(Printable):
    """Distances of CPDAGs from the CPDAG of a reference."""

    KEYS = "hamming f1"

    reference: EquivalenceClass
    hamming: Mapping[str, int]  # by name: pairs of variables whose edges differ
    f1: Mapping[str, float]  # by name: F1 of the edges

    def tidy(self) -> Columns:
        """Return a row for each graph."""
        rows = ((name, d, self.f1[name]) for name, d in self.hamming.items())
        return transposed(("structure", "shd", "f1"), rows)

    def grids(self) -> Sequence[Grid]:
        """Return the tables that `print` and notebooks show."""
        edges = len(self.reference.compelled) + len(self.reference.reversible)
        rows = tuple((name, str(d), number(self.f1[name], 3)) for name, d in self.hamming.items())
        note = "Graphs with the same independences are at distance 0."
        title = f"Distance from the reference, which has {edges} edges"
        return [Grid(title, ("structure", "SHD", "F1 of edges"), rows, notes=(note,))]


def graph_distances(
    networks: Mapping[str, Network], reference: Network, known: Knowledge
) -> GraphDistances:
    """Compare graphs with a reference over the same variables, under the same constraints."""
    true = known.equivalence_class(reference)
    classes = {name: known.equivalence_class(network) for name, network in networks.items()}
    return GraphDistances(
        true,
        {name: structural_hamming_distance(one, true) for name, one in classes.items()},
        {name: edge_f1(one, true) for name, one in classes.items()},
    )
