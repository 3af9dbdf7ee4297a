"""The graph that was learned, and what it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lacunet.model.equivalence import EquivalenceClass, equivalence_class
from lacunet.model.network import Network
from lacunet.model.prior import describe_alpha
from lacunet.tabular import Grid, Printable, number


@dataclass(frozen=True, eq=False)
class Learned(Printable):
    """The best graph that was found."""

    network: Network
    alpha: float | str  # its prior, as it was asked for
    log_bd: float  # log p(D|S), exact
    families: tuple[float, ...]  # its addends, by variable
    steps: int  # moves made, over all climbs
    scored: int  # families scored
    exact: bool = False  # whether no graph that is allowed has more

    @cached_property
    def equivalence_class(self) -> EquivalenceClass:
        """All graphs that say the same: which edges they share, and which may be turned round."""
        return equivalence_class(self.network)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        names = [v.name for v in self.network.variables]
        sure = {*self.equivalence_class.compelled}

        def told(parent: str, child: str) -> str:
            return f"{parent} {'→' if (parent, child) in sure else '—'}"

        rows = tuple(
            (name, ", ".join(told(names[p], name) for p in parents) or "–", number(value))
            for name, parents, value in zip(names, self.network.parents, self.families, strict=True)
        )
        edges = sum(len(p) for p in self.network.parents)
        title = f"log p(D|S) = {self.log_bd:.4f} (BD, exact); {edges} edges"
        way = "The best of all graphs" if self.exact else f"{self.steps:,} moves"
        notes = (
            "→: as in every graph with the same independences; —: may as well point the other way.",
            f"Prior: {describe_alpha(self.alpha)}.",
            f"{way}; {self.scored:,} families scored.",
        )
        return [Grid(title, ("variable", "parents", "log BD"), rows, frozenset({0, 1}), notes)]
