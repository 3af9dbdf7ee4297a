"""Which Gaussian columns vary together within a class, and whether alike in all classes."""

from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.errors import OptionError, did_you_mean

DIAGONAL, FULL = "diagonal", "full"
COMMON = "common"


@dataclass(frozen=True)
class Covariance:
    """Blocks of columns with a joint distribution in each class; all others are by themselves."""

    full: bool = False  # whether all Gaussian columns are one block
    named: tuple[tuple[str, ...], ...] = ()  # blocks, by the names of their columns
    common: bool = False  # whether all classes have the same variances and covariances

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
    """Read diagonal, full, or blocks, NAME+NAME with commas between; with common: alike in all.

    >>> understand_covariance("height+weight,age+income").named
    (('height', 'weight'), ('age', 'income'))
    >>> understand_covariance("full-common") == Covariance(full=True, common=True)
    True
    """
    for form in (DIAGONAL, FULL):
        if said in (form, f"{form}-{COMMON}"):
            return Covariance(full=form == FULL, common=said != form)
    parts = [part.strip() for part in said.split(",")]
    blocks = tuple(tuple(n.strip() for n in part.split("+")) for part in parts if part != COMMON)
    names = [name for block in blocks for name in block]
    if not blocks or any(len(block) < 2 for block in blocks) or not all(names):
        raise OptionError(
            f"covariance: '{said}' is not understood. Give {DIAGONAL}, {FULL}, "
            f"{DIAGONAL}-{COMMON}, {FULL}-{COMMON}, or blocks of columns: NAME+NAME with commas "
            f"between, and {COMMON} among them if all classes have the same."
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"covariance: '{twice}' stands twice. A column is in one block.")
    return Covariance(named=blocks, common=COMMON in parts)
