"""What cannot be sampled, said before anything is tried."""

from lacunet.errors import OptionError
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import MOST_ONE_BY_ONE


def check_sampling(problem: Problem, *, one_by_one: bool = False) -> None:
    """Refuse cases that exponents hide, and more of them than can be taken `one_by_one`."""
    if not problem.cases_show:
        raise OptionError(
            f"exponents of the prior add up to {problem.alpha.sum():.2g}: beside them a case is "
            "lost in rounding, so that nothing can be sampled. Give a smaller alpha, or method "
            "exact where the sum over all completions is short."
        )
    if one_by_one and problem.cases > MOST_ONE_BY_ONE:
        raise OptionError(
            f"this method takes cases one by one, and {problem.cases:.3g} are more than "
            f"{MOST_ONE_BY_ONE:g}. Use --method ais, or auto."
        )
