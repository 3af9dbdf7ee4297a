"""What looking for hidden variables led to, and what speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lacunet.models.network import Model, Network
from lacunet.models.prior import describe_alpha
from lacunet.selection.average import Label
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import Factor
from lacunet.selection.hidden.averaging import KEPT, Averaged
from lacunet.structure.hidden.hidden_grid import hidden_grid, hidden_variables
from lacunet.structure.learned import Learned
from lacunet.tabular import Columns, Grid, Printable

WITHOUT = "no hidden variable"


@dataclass(frozen=True, eq=False, repr=False)
class HiddenFound(Printable):
    """The best graph that was found, with hidden variables or without."""

    without: Learned  # the best graph over the columns alone
    selection: Selection  # that, and the best with hidden variables
    label: Label  # which of the two is the answer
    model: Model  # the same, with posterior means for parameters
    others: tuple[Selection, ...] = ()  # the same under other priors that the data support more

    @property
    def network(self) -> Network:
        """The graph."""
        return self.model.network

    @property
    def hidden(self) -> dict[str, int]:
        """The hidden variables, and how many states each has; empty where none is kept."""
        return self.network.hidden_sizes

    @property
    def log_evidence(self) -> float:
        """Log p(D|S) of the answer, all labellings, as far as it is known."""
        return self.selection.certainty.values[self.label]

    @property
    def factor(self) -> Factor | None:
        """Bayes factor of the best graph with hidden variables and the best without.

        Under the prior that was given; `averaged.factor` is averaged over the priors. None where no
        graph with a hidden variable was worth a comparison.
        """
        with_some = [k for k in self.selection.certainty.ranking if k != WITHOUT]
        if not with_some:
            return None
        return self.selection.bayes_factor(with_some[0], WITHOUT)

    @cached_property
    def averaged(self) -> Averaged:
        """The comparison averaged over priors: what decides."""
        return Averaged((self.selection, *self.others))

    @property
    def probability(self) -> float | None:
        """Probability of the best graph with hidden variables against that without, given both."""
        return None if self.factor is None else self.averaged.probability

    @property
    def comparison(self) -> str:
        """The Bayes factor and the probability in sentences, or why there are none."""
        if self.factor is None or self.probability is None:
            return "No graph with a hidden variable came near the best one without."
        odds = f"prior odds {self.averaged.prior_odds:.2g}; kept above {KEPT:g}"
        return (
            f"Log Bayes factor of the best graph with hidden variables and without: "
            f"{self._factors()}. Probability with hidden variables, of these two: "
            f"{self.probability:.2g} ({odds})."
        )

    def _factors(self) -> str:
        """The Bayes factor under each prior, and averaged over them."""
        pairs, labels = self.averaged.pairs, self.averaged.labels
        each = [
            f"{pair.bayes_factor(more, fewer)} under {_prior_of(pair)}"
            for pair, (fewer, more) in zip(pairs, labels, strict=True)
        ]
        if len(each) == 1:
            return each[0]
        return f"{', '.join(each)}; averaged over both, {self.averaged.factor}"

    def tidy(self) -> Columns:
        """Give a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        number, how = len(self.hidden), self.selection.certainty.how
        what = hidden_variables(number) if number else WITHOUT
        title = f"{what[:1].upper()}{what[1:]}: log p(D|S) ≈ {self.log_evidence:.2f} ({how})"
        close = "It is not kept: they are too close for an approximation to tell."
        better = self.probability is not None and self.probability > KEPT
        notes = (
            self.comparison,
            *([close] if not number and better else []),
            *(f"- {note}" for note in self.selection.certainty.notes),
        )
        first = hidden_grid(self.model, title, notes) if number else Grid(title, notes=notes)
        return [first, graph_grid(self.network)]


def _prior_of(pair: Selection) -> str:
    """Say the prior of a comparison in words."""
    alpha = pair.alpha
    return describe_alpha(alpha) if isinstance(alpha, str | int | float) else "the prior given"


def graph_grid(network: Network) -> Grid:
    """Say which parents every variable has."""
    names = [v.name for v in network.variables]
    rows = [
        (names[v], ", ".join(names[p] for p in pa) or "–") for v, pa in enumerate(network.parents)
    ]
    return Grid("Graph", ("variable", "parents"), tuple(rows), frozenset({0, 1}))
