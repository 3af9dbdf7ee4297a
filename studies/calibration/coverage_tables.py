"""From lines of the ledger to tables: how often an error bar covers the truth."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lacunet.evidence.estimate import RELIABLE_ERROR, Verdict
from lacunet.paper.tables import Record

MULTIPLES = (1, 2, 3)  # of the stated standard error
TOO_FAR = 5.0  # standard errors that no reliable estimate may be off
OPEN = 3.0  # nats below the bound from above, from which something may have been missed by all
LATE = 1.2  # times the budget
ALL = "all"


@dataclass(frozen=True)
class Judged:
    """One measured evidence, and what its judge knows."""

    cell: str
    method: str
    verdict: str
    error: float | None  # value − truth, nats; None, where there is no value
    stderr: float | None  # as stated
    doubt: float  # standard error of the judge
    open: bool  # whether the bound from above leaves room for much more
    late: bool  # whether it took longer than it was allowed

    @property
    def decided(self) -> bool:
        """Whether the judge knows well enough."""
        return self.error is not None and self.doubt <= RELIABLE_ERROR

    @property
    def off(self) -> float:
        """Errors off, in standard errors of both together."""
        if self.error is None or self.stderr is None:
            return math.inf
        both = math.hypot(self.stderr, self.doubt)
        # Numbers that are added up in another order differ in the last digits.
        return abs(self.error) / max(both, 1e-9)


def judged(records: Sequence[Record], budget: float) -> list[Judged]:
    """Hold every measurement of every problem against the truth."""
    found = []
    for r in records:
        truth = r["truth"]
        for m in r["measured"]:
            known = m["value"] is not None and truth["value"] is not None
            error = m["value"] - truth["value"] if known else None
            missing = math.inf if truth["upper"] is None else truth["upper"] - truth["value"]
            doubt = math.inf if truth["stderr"] is None else truth["stderr"]
            late = m["seconds"] > LATE * budget
            place = (r["cell"], m["method"], m["verdict"])
            found.append(Judged(*place, error, m["stderr"], doubt, missing > OPEN, late))
    return found


def coverage_table(measured: Sequence[Judged]) -> list[Record]:
    """Give a row for each shape and all of them, for each verdict and each method."""
    groups: Mapping[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for m in measured:
        for cell in (m.cell, ALL):
            for method in (m.method, ALL):
                groups[cell, m.verdict, method].append(m)
    order = [*dict.fromkeys(m.cell for m in measured), ALL]
    keys = sorted(groups, key=lambda key: (order.index(key[0]), key[1], key[2] != ALL, key[2]))
    several = {key[:2] for key in keys if sum(k[:2] == key[:2] for k in keys) > 2}
    names = ("cell", "verdict", "method")
    return [
        dict(zip(names, key, strict=True)) | _row(groups[key])
        for key in keys
        if key[2] == ALL or key[:2] in several  # one method alone says nothing new
    ]


def _row(mine: Sequence[Judged]) -> dict[str, Any]:
    known = [m for m in mine if m.decided]
    errors = [m.error for m in known if m.error is not None]
    bound = bool(mine) and mine[0].verdict == Verdict.LOWER_BOUND
    row: dict[str, Any] = {
        "measurements": len(mine),
        "judged": len(known),
        "open": sum(m.open for m in mine),
        "late": sum(m.late for m in mine),
        "mean_error": statistics.fmean(errors) if errors else None,
        "largest_error": max(errors, key=abs, default=None),
    }
    if bound or not known:  # a bound has no error bar: it must only not be above the truth
        above = [m for m in known if m.error is not None and m.error > MULTIPLES[1] * m.doubt]
        return row | {"above": len(above), "within": None, "beyond": None, "largest_off": None}
    return row | {
        "above": None,
        "within": {str(k): sum(m.off <= k for m in known) / len(known) for k in MULTIPLES},
        "beyond": sum(m.off > TOO_FAR for m in known),
        "largest_off": max(m.off for m in known),
    }
