"""A fit without its problem: what a file of work that may be stopped keeps of it."""

from dataclasses import dataclass, fields
from typing import Any, Self

from lacunet.fitting.fit import Fit
from lacunet.inference.problem import Problem
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray

KNOWN = ("problem", "model", "heaviest")  # what is known elsewhere, or put together


@dataclass(frozen=True, eq=False)
class PackedFit:
    """All that was found."""

    found: dict[str, Any]  # fields of a fit, by name
    posterior: FloatArray | None  # of its model
    heaviest: "PackedFit | None" = None

    @classmethod
    def of(cls, fit: Fit) -> Self:
        """Leave out what is known."""
        told = {f.name: getattr(fit, f.name) for f in fields(fit) if f.name not in KNOWN}
        heaviest = None if fit.heaviest is None else cls.of(fit.heaviest)
        return cls(told, fit.model.posterior, heaviest)

    def unpack(self, problem: Problem) -> Fit:
        """Give the fit, to a problem that is the same as it was."""
        theta = self.found["point"].theta
        model = Model(problem.network, theta, problem.alpha, self.posterior)
        heaviest = None if self.heaviest is None else self.heaviest.unpack(problem)
        return Fit(problem=problem, model=model, heaviest=heaviest, **self.found)
