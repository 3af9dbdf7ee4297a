"""What no log probability can be: the last look at a number before it leaves."""

import math
from collections.abc import Mapping

from lacunet.errors import ImpossibleNumberError
from lacunet.inference.problem import Problem

ROUNDING = 1e-9  # of the largest addend, and of 1: what sums may lose


def is_above_zero(problem: Problem, terms: Mapping[str, float], noise: float = 0.0) -> bool:
    """Whether addends sum to more than the log probability of discrete data can be."""
    slack = noise + ROUNDING * max(1.0, *map(abs, terms.values())) if terms else math.inf
    return problem.layout.discrete and math.fsum(terms.values()) > slack


def check_log_probability(
    problem: Problem, name: str, terms: Mapping[str, float], noise: float = 0.0
) -> None:
    """Keep back the log of a probability, or a lower bound of one, that is above 0 or no number."""
    value = math.fsum(terms.values())
    if math.isnan(value) or is_above_zero(problem, terms, noise):
        addends = ", ".join(f"{what} = {x:.17g}" for what, x in terms.items())
        raise ImpossibleNumberError(
            f"{name} came out as {value:.6g}, which no log probability of these data can be "
            f"({problem.cases:g} cases, exponents from {problem.alpha.min():.3g} to "
            f"{problem.alpha.max():.3g}): {addends}. It is kept back: this is a defect of lacunet."
        )
