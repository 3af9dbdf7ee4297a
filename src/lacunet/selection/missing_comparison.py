"""Missing at random, or missing as an answer? Two models of missing values of the same data.

Evidence can be compared only for the same data. Both models therefore give a probability to the
values, and to which cells are missing. Each column with missing values gets a binary one, its mask.

- At random: a cell of column j is missing with probability π_j in every class. Its mask is a root
  of the network, and the mask carries no information about the class.
- As an answer: it is missing with probability π_jc in class c. Its mask is a child of the class.

With π ~ Beta(α, r α) and the r states ~ Dirichlet(α), the second equals the model in which a
missing value is one more state, with Dirichlet(α) over all r + 1 (Dirichlets aggregate). The first
has the same prior on its one π_j, so the two differ only in the dependence.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.data.transform import MISSING, SEEN, with_masks
from lacunet.errors import DataError, OptionError
from lacunet.models.latent_class import HIDDEN_NAMES
from lacunet.models.network import Network, Variable
from lacunet.models.prior import Alpha, dirichlet, understand_alpha
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import HEADLINE
from lacunet.selection.candidates import Candidate, Proposal
from lacunet.selection.comparing import fit_candidates, or_raise
from lacunet.selection.result import Selection
from lacunet.settings import Settings
from lacunet.tabular import Columns, Grid, Printable, described, number

ONE_SCORE = Settings(scores=HEADLINE.name)  # many candidates, one comparison
AT_RANDOM = "missing at random"
AN_ANSWER = "missing as an answer"
# Least log Bayes factor of each name. Kass & Raftery (1995).
WORDS = ((5.0, "very strong"), (3.0, "strong"), (1.0, "some"))
MEANING = """\
- Above 0: which cells are missing is informative about {hidden}. Missing as a \
category (--missing-as-state) uses that information; missing at random ignores it.
- Below 0: missing values are equally frequent everywhere. Missing at random, \
the default, loses nothing.
- 1 nat is some evidence, 3 are strong, 5 very strong (Kass & Raftery 1995).
- Missing values may be associated with {hidden} only because they depend on \
observed answers. Given those answers they are missing at random, and the default is correct.
- No data can tell whether a cell is missing because of its own value: neither model covers that."""


@dataclass(frozen=True, eq=False)
class ColumnReading:
    """The missing values of one column."""

    name: str
    missing: float  # weighted share of its cells that are missing
    alone: Mapping[str, float]  # log Bayes factor by score: only its mask may depend on the class
    given_others: Mapping[str, float] | None  # the same, given that the masks of all others do


@dataclass(frozen=True, eq=False, repr=False)
class MissingComparison(Printable):
    """Log Bayes factors of missing as an answer against at random; above 0 for the first."""

    KEYS = "data=table hidden headline log_bayes_factor log_bayes_factors columns"

    table: Table  # as it was read
    selection: Selection  # the two models of all missing values
    columns: tuple[ColumnReading, ...]
    hidden: str  # the variable on which masks may depend

    @property
    def headline(self) -> str:
        """The score that decides."""
        return self.selection.headline

    @property
    def log_bayes_factors(self) -> dict[str, float]:
        """Of the two models of all missing values, by score."""
        random, answer = self.selection.candidates
        return _factors(self.selection, answer, random)

    @property
    def log_bayes_factor(self) -> float:
        """Of the two models of all missing values, by the score that decides."""
        return self.log_bayes_factors[self.headline]

    def tidy(self) -> Columns:
        """Return a row for each column with missing values: log Bayes factors, by score."""
        names = [score.name for score in self.selection.scores]
        others = [c.given_others or {} for c in self.columns]
        return {
            "column": [c.name for c in self.columns],
            "missing": [c.missing for c in self.columns],
            **{name: [c.alone[name] for c in self.columns] for name in names},
            "given_others": [other.get(self.headline) for other in others],
        }

    def to_dict(self) -> dict[str, Any]:
        readings = {
            str(c.label): {"dimension": c.dimension, **c.fit.to_dict(), **described(c, "scores")}
            for c in self.selection.candidates
        }
        return described(self, self.KEYS, readings=readings)

    def grids(self) -> Sequence[Grid]:
        what = "the classes" if self.hidden in HIDDEN_NAMES else self.hidden
        titles = {s.name: s.title for s in self.selection.scores}
        headline, factor = self.headline, self.log_bayes_factor
        signed = "–" if math.isnan(factor) else f"{factor:+.2f}"
        answer = (
            f"All missing values together: {words(factor, what)}; "
            f"log Bayes factor {signed} nats, by {titles[headline]}."
        )
        missing = float(self.table.missing.mean())
        every = [
            *self.columns,
            ColumnReading("all of them", missing, self.log_bayes_factors, None),
        ]
        notes = [f"Each column alone: only its missing values may depend on {what}, no others."]
        columns: dict[str, list[str]] = {
            "column": [c.name for c in every],
            "missing": [f"{c.missing:.1%}" for c in every],
            **{title: [number(c.alone[n]) for c in every] for n, title in titles.items()},
        }
        others = [c.given_others for c in every]
        if any(x is not None for x in others):
            columns["given the others"] = [number(x[headline]) if x else "–" for x in others]
            by = titles[headline]
            notes.append(
                f"Given the others: its missing values too, if those of all others do (by {by})."
            )
        columns["in words"] = [words(c.alone[headline], what) for c in every]
        title = f"Log Bayes factors, {AN_ANSWER} against {AT_RANDOM} (nats; above 0 for the first)"
        left = frozenset({0, len(columns) - 1})
        flags = [
            f"- {c.label}: {flag}"
            for c in self.selection.candidates
            for flag in (*c.flags, *(f for e in c.scores.values() for f in e.flags))
        ]
        return [
            Grid(answer),
            Grid.by_columns(title, columns, left, notes),
            *([Grid("What to know", notes=tuple(flags))] if flags else []),
            Grid("What this means", notes=tuple(MEANING.format(hidden=what).split("\n"))),
        ]


def words(factor: float, hidden: str) -> str:
    """Describe a log Bayes factor in words.

    >>> words(4.2, "H"), words(-7.0, "H"), words(0.3, "H")
    ('depend on H (strong)', 'do not depend on H (very strong)', 'undecided')
    """
    if math.isnan(factor):
        return "no value"
    size = next((word for least, word in WORDS if abs(factor) >= least), None)
    if size is None:
        return "undecided"
    return f"{'' if factor > 0 else 'do not '}depend on {hidden} ({size})"


def compare_readings(
    table: Table,
    network: Network,
    settings: Settings = ONE_SCORE,
    *,
    both_ways: bool = False,
    executor: Executor = SERIAL,
) -> MissingComparison:
    """Compare the models of all missing values, and of those of each column.

    `network` is a latent class model of the table, or any network with one hidden variable.
    """
    hidden, alpha = the_hidden(network), settings.alpha
    masked, masks = with_masks(table)
    if not masks:
        raise DataError(
            f"{table.source}: no cell is missing, so there is nothing to compare. Declare markers "
            "of missing cells with --missing."
        )
    names = [name for c in table.shown if (name := table.columns[c].name) in masks]
    # Which masks may depend on the class: none, all, each alone, and (both ways) all but each.
    dependent: dict[str, list[str]] = {AT_RANDOM: [], AN_ANSWER: names}
    if len(names) > 1:  # with one column, alone is all
        dependent |= {f"alone: {name}": [name] for name in names}
        if both_ways:
            dependent |= {f"without: {name}": [n for n in names if n != name] for name in names}
    proposals = [_proposal(label, network, masks, some, alpha) for label, some in dependent.items()]
    fits = fit_candidates(masked, proposals, settings, executor)
    readings = dict(zip(dependent, map(or_raise, fits), strict=True))
    random, answer = readings[AT_RANDOM], readings[AN_ANSWER]
    selection = Selection(masked, (random, answer), settings.options, alpha, None)
    if not selection.scores:
        raise OptionError(f"none of these scores is defined for both models. Use {HEADLINE.name}.")
    share = dict(zip((c.name for c in table.columns), table.missing, strict=True))
    columns = []
    for name in names:
        alone, without = (readings.get(f"{which}: {name}") for which in ("alone", "without"))
        given_others = _factors(selection, answer, without or random) if both_ways else None
        factors = _factors(selection, alone or answer, random)
        columns.append(ColumnReading(name, float(share[name]), factors, given_others))
    return MissingComparison(table, selection, tuple(columns), network.variables[hidden].name)


def _proposal(
    label: str, network: Network, masks: Mapping[str, str], dependent: Sequence[str], alpha: Alpha
) -> Proposal:
    """The network in which the masks of some columns depend on the class."""
    structure = with_mask_variables(network, the_hidden(network), masks, dependent)
    return Proposal(label, structure, {}, mask_prior(network, structure, masks, alpha))


def _factors(selection: Selection, more: Candidate, less: Candidate) -> dict[str, float]:
    """Log Bayes factor of one model against another, by score."""
    names = [s.name for s in selection.scores]
    return {name: more.scores[name].value - less.scores[name].value for name in names}


def the_hidden(network: Network) -> int:
    """Return the one hidden variable on which masks may depend; reject none, several, one state."""
    if len(network.hidden) != 1:
        names = ", ".join(f"'{network.variables[h].name}'" for h in network.hidden)
        raise OptionError(
            f"the network has {len(network.hidden)} hidden variables{f' ({names})' * bool(names)}; "
            "missing values are compared with the states of exactly one. Use a network with one."
        )
    (h,) = network.hidden
    if len(network.variables[h].states) < 2:
        raise OptionError(
            f"'{network.variables[h].name}' has 1 state: then both models are the same. "
            "Give 2 or more states."
        )
    return h


def with_mask_variables(
    network: Network, hidden: int, masks: Mapping[str, str], dependent: Iterable[str]
) -> Network:
    """Add a mask for each column: a child of the hidden variable, or a root."""
    chosen = set(dependent)
    return Network.build(
        [*network.variables, *(Variable(mask, (SEEN, MISSING)) for mask in masks.values())],
        [*network.parents, *((hidden,) if name in chosen else () for name in masks)],
    )


def mask_prior(
    network: Network, masked: Network, masks: Mapping[str, str], alpha: Alpha
) -> dict[str, FloatArray]:
    """Return the exponents of every family: the network's, and Beta(α, r α) of the masks.

    An equivalent sample size is spread over the classes and over the r + 1 states.
    """
    if isinstance(alpha, Mapping):
        raise OptionError(
            "a prior for each family has none for missing values. Give a number or bdeu."
        )
    pooled = network.layout.pooled(dirichlet(network, alpha))
    exponents = {v.name: network.layout.table(pooled, i) for i, v in enumerate(network.variables)}
    value, is_size = understand_alpha(alpha)
    states = {v.name: len(v.states) for v in network.variables}
    parents = dict(zip((v.name for v in masked.variables), masked.parents, strict=True))
    for name, mask in masks.items():
        shape = [len(masked.variables[p].states) for p in parents[mask]]
        r = states[name]
        a = value / (math.prod(shape) * (r + 1)) if is_size else value
        exponents[mask] = np.broadcast_to(np.array([r * a, a]), (*shape, 2))
    return exponents
