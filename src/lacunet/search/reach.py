"""How far a long range of numbers of states was followed, and why no further."""

from dataclasses import dataclass

from lacunet.wording import worded


@dataclass(frozen=True)
class Reach:
    """A range was left where the evidence had fallen far, and went on falling."""

    best: int  # states, of those that were looked at
    last: int  # the most that were tried
    asked: int  # the most that were asked for
    fall: float  # nats of log evidence from the best to the last

    def __str__(self) -> str:
        last, asked = self.last, self.asked
        return worded(
            f"{last + 1} to {asked} were left out: at {last} the evidence is about "
            f"{self.fall:.0f} nats below that of {self.best}, and beyond it goes on falling. "
            "With --whole-range they are tried too"
        )
