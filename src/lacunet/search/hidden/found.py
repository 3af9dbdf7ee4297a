"""What looking for hidden variables led to, and what speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.graphs.hidden.hidden_grid import hidden_grid, hidden_variables
from lacunet.graphs.learned import Learned
from lacunet.model.network import Model, Network
from lacunet.search.average import Label
from lacunet.search.candidates import Selection
from lacunet.search.certainty import Factor
from lacunet.tabular import Columns, Grid, Printable

WITHOUT = "no hidden variable"


@dataclass(frozen=True, eq=False, repr=False)
class HiddenFound(Printable):
    """The best graph that was found, with hidden variables or without."""

    without: Learned  # the best graph over the columns alone
    selection: Selection  # that, and the best with hidden variables
    label: Label  # which of the two is the answer
    model: Model  # the same, with posterior means for parameters

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

        None where no graph with a hidden variable was worth a comparison.
        """
        with_some = [k for k in self.selection.certainty.ranking if k != WITHOUT]
        if not with_some:
            return None
        return self.selection.bayes_factor(with_some[0], WITHOUT)

    @property
    def comparison(self) -> str:
        """The Bayes factor as a sentence, or why there is none."""
        if self.factor is None:
            return "No graph with a hidden variable came near the best one without."
        return (
            f"Log Bayes factor of the best graph with hidden variables and without: {self.factor}."
        )

    def tidy(self) -> Columns:
        """Give a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        number, how = len(self.hidden), self.selection.certainty.how
        what = hidden_variables(number) if number else WITHOUT
        title = f"{what[:1].upper()}{what[1:]}: log p(D|S) ≈ {self.log_evidence:.2f} ({how})"
        close = "It is not kept: they are too close for an approximation to tell."
        better = self.factor is not None and self.factor.log > 0
        notes = (
            self.comparison,
            *([close] if not number and better else []),
            *(f"- {note}" for note in self.selection.certainty.notes),
        )
        first = hidden_grid(self.model, title, notes) if number else Grid(title, notes=notes)
        return [first, graph_grid(self.network)]


def graph_grid(network: Network) -> Grid:
    """Say which parents every variable has."""
    names = [v.name for v in network.variables]
    rows = [
        (names[v], ", ".join(names[p] for p in pa) or "–") for v, pa in enumerate(network.parents)
    ]
    return Grid("Graph", ("variable", "parents"), tuple(rows), frozenset({0, 1}))
