"""What no log probability can be: the last look at a number before it leaves."""

import math
from collections.abc import Mapping

from numpy.linalg import LinAlgError

from lacunet.errors import DataError, ImpossibleNumberError, ModelError
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem

# How arithmetic fails for one model or one score, while the others may be as good as ever. Options
# that cannot be had, and defects (any other exception), are not among them: they end the run.
FAILURES = (ImpossibleNumberError, DataError, ModelError, ArithmeticError, LinAlgError)
ROUNDING = 1e-9  # of the largest addend, and of 1: what sums may lose


def failure(error: Exception) -> Flag:
    """Say why something was not computed."""
    return Flag(Kind.FAILED, detail={"reason": reason_of(error)})


def reason_of(error: Exception) -> str:
    """An error as the end of a sentence."""
    return (str(error) or type(error).__name__).rstrip(".")


def is_above_zero(problem: Problem, terms: Mapping[str, float], noise: float = 0.0) -> bool:
    """Whether addends sum to more than the log probability of discrete data can be."""
    slack = noise + ROUNDING * max(1.0, *map(abs, terms.values())) if terms else math.inf
    return problem.layout.discrete and math.fsum(terms.values()) > slack


def check_log_probability(
    problem: Problem, name: str, terms: Mapping[str, float], noise: float = 0.0
) -> None:
    """Keep back the log of a probability, or of a bound, that is above 0 or not a finite number."""
    value = math.fsum(terms.values())
    if not math.isfinite(value) or is_above_zero(problem, terms, noise):
        addends = ", ".join(f"{what} = {x:.17g}" for what, x in terms.items())
        raise ImpossibleNumberError(
            f"{name} came out as {value:.6g}, which no log probability of these data can be "
            f"({problem.cases:g} cases, exponents from {problem.alpha.min():.3g} to "
            f"{problem.alpha.max():.3g}): {addends}. It is kept back: this is a defect of lacunet."
        )
