"""Which Gaussian columns vary together within a class, as a person says it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.errors import OptionError, did_you_mean

DIAGONAL, FULL = "diagonal", "full"


@dataclass(frozen=True)
class Covariance:
    """Blocks of columns with a joint distribution in each class; all others are by themselves."""

    full: bool = False  # whether all Gaussian columns are one block
    named: tuple[tuple[str, ...], ...] = ()  # blocks, by the names of their columns

    def blocks(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """The blocks that Gaussian columns fall into; a column alone is none."""
        if self.full:
            return [tuple(columns)] if len(columns) > 1 else []
        for name in (name for block in self.named for name in block):
            if name not in columns:
                raise OptionError(
                    f"covariance: '{name}' is no Gaussian column.{did_you_mean(name, columns)} "
                    f"They are {', '.join(columns) or 'none'}; --kinds says which are."
                )
        return list(self.named)


def understand_covariance(said: str) -> Covariance:
    """Read diagonal, full, or blocks: NAME+NAME with commas between.

    >>> understand_covariance("height+weight,age+income").named
    (('height', 'weight'), ('age', 'income'))
    """
    if said in (DIAGONAL, FULL):
        return Covariance(full=said == FULL)
    blocks = tuple(tuple(n.strip() for n in part.split("+")) for part in said.split(","))
    names = [name for block in blocks for name in block]
    if any(len(block) < 2 for block in blocks) or not all(names):
        raise OptionError(
            f"covariance: '{said}' is not understood. Give diagonal, full, or blocks of columns: "
            "NAME+NAME with commas between."
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"covariance: '{twice}' stands twice. A column is in one block.")
    return Covariance(named=blocks)
