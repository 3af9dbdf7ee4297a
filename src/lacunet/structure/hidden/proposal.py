"""A graph that somebody proposes."""

from dataclasses import dataclass

from lacunet.structure.hidden.fitting import Filled
from lacunet.structure.hidden.sketch import Sketch


@dataclass(frozen=True, eq=False)
class Proposal:
    """A graph to fit, and completed rows to start from."""

    sketch: Sketch
    start: Filled
