"""What measuring the evidence gives, and by which method."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lacunet.evidence.estimate import RELIABLE_ERROR, Verdict
from lacunet.flags import Flag
from lacunet.tabular import Columns, Grid, Printable

FAR_OUT = 6.0  # standard errors that no estimate is off


class Method(StrEnum):
    """How to compute the evidence."""

    AUTO = "auto"
    EXACT = "exact"
    AIS = "ais"
    SMC = "smc"
    WALK = "walk"


@dataclass(frozen=True, repr=False)
class Measurement(Printable):
    """The evidence, how sure it is, and what it took."""

    value: float  # log p(D|S), all labellings
    one_labelling: float  # the same for one of the equal labellings, as the paper counts
    stderr: float | None  # nats; 0 where exact, None of a lower bound: nobody knows how far it is
    ess: float | None  # effective number of independent estimates; None where exact
    verdict: Verdict
    method: Method
    seconds: float = field(compare=False)
    used: dict[int, float]  # posterior of the number of used classes, of latent class models
    details: dict[str, int]  # what was run
    notes: tuple[Flag, ...] = ()

    @property
    def noise(self) -> float:
        """How far above the truth it may be, in nats."""
        return 0.0 if self.verdict is Verdict.EXACT else FAR_OUT * (self.stderr or RELIABLE_ERROR)

    @property
    def error(self) -> str:
        """The error bar as it stands behind the value: none where exact or a lower bound."""
        return f" ± {self.stderr:.2g}" if self.stderr else ""

    def tidy(self) -> Columns:
        """Give one row."""
        names = ("value", "one_labelling", "stderr", "ess", "seconds", "verdict", "method")
        return {name: [getattr(self, name)] for name in names}

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        ran = ", ".join(f"{number:,} {name}" for name, number in self.details.items())
        lines = []
        if self.one_labelling != self.value:
            lines.append(f"{self.one_labelling:.3f} for one labelling of the hidden states")
        if self.ess is not None and math.isfinite(self.ess):  # chains that all agree have no error
            lines.append(f"effective number of independent estimates: {self.ess:.0f}")
        lines.append(f"{self.method}: {ran}; {self.seconds:.1f} s")
        if self.used:
            shares = ", ".join(f"{m} ({s:.1%})" for m, s in self.used.items() if s >= 0.0005)
            lines.append(f"classes in use: {shares}")
        title = f"log p(D|S) = {self.value:.3f}{self.error} nats: {self.verdict}"
        return [Grid(title, (), (), notes=(*lines, *(f"- {note}" for note in self.notes)))]
