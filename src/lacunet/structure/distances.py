"""How far graphs are from one that is taken for the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lacunet.models.equivalence import (
    EquivalenceClass,
    edge_f1,
    structural_hamming_distance,
)
from lacunet.models.network import Network
from lacunet.structure.knowledge import Knowledge
from lacunet.tabular import Columns, Grid, Printable, number, transposed


@dataclass(frozen=True, repr=False)
class GraphDistances(Printable):
    """Distances of CPDAGs from that of a reference."""

    reference: EquivalenceClass
    hamming: Mapping[str, int]  # by name: pairs of variables at which the two differ
    f1: Mapping[str, float]  # by name: of the edges found

    def tidy(self) -> Columns:
        """Give a row for each graph."""
        rows = ((name, d, self.f1[name]) for name, d in self.hamming.items())
        return transposed(("structure", "shd", "f1"), rows)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        edges = len(self.reference.compelled) + len(self.reference.reversible)
        rows = tuple((name, str(d), number(self.f1[name], 3)) for name, d in self.hamming.items())
        note = "Graphs with the same independences are at distance 0."
        title = f"Distance from the reference, which has {edges} edges"
        return [Grid(title, ("structure", "SHD", "F1 of edges"), rows, notes=(note,))]


def graph_distances(
    networks: Mapping[str, Network], reference: Network, known: Knowledge
) -> GraphDistances:
    """Compare graphs with a reference over the same variables, all oriented as is known."""
    true = known.equivalence_class(reference)
    classes = {name: known.equivalence_class(network) for name, network in networks.items()}
    return GraphDistances(
        true,
        {name: structural_hamming_distance(one, true) for name, one in classes.items()},
        {name: edge_f1(one, true) for name, one in classes.items()},
    )
