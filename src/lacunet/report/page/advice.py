"""Explanations of all warnings: meaning and recommended action."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lacunet.flags import Flag, Kind
from lacunet.selection.grids import TITLES
from lacunet.selection.result import Selection


@dataclass(frozen=True)
class Meaning:
    """The explanation that some kinds of flags share."""

    kinds: tuple[Kind, ...]
    title: str
    words: str
    serious: bool = False  # whether it invalidates numbers


# Each entry: kinds of flags; title ("! " marks serious ones); meaning and recommended action.
CATALOGUE = """
NOT_CONVERGED
! Learning stopped before it reached a maximum
It reached the step limit, so the fit and its scores are slightly too low. Run it again with
--schedule thorough.

UNSTABLE
! Only one start found the best fit
All other starts ended lower, so there may be a better fit. Use more starts, or --schedule thorough,
to find it.

TOO_MANY_PARAMETERS FEW_DISTINCT_ROWS
! More parameters than the data can determine
Different profiles fit the data equally well, so the prior chooses among them: do not interpret the
classes of such a model. Use fewer classes, or more columns or rows.

MISFIT
! The model does not reproduce the data
Data simulated from the fitted model differ from yours as named: answers that are dependent within
classes, or numbers that are skewed, heavy-tailed or correlated within them. More classes only
imitate that. `lacunet select` compares models that allow for it.

MASS_ELSEWHERE
The best fit is a narrow peak
The parameters that are shown are the most probable ones, but a broader optimum nearby has more
posterior mass. Probabilities of the candidates use that mass. Such peaks often have a small class:
check whether it is meaningful.

SINGLE_START
Only one start
EM converges to a local maximum. A higher one may exist: use more starts.

FLAT_DIRECTION
The data hardly determine some parameters
In some direction the parameters can change with almost no effect on the fit. Profiles may differ
from run to run; try fewer classes.

NO_MAP NO_MODE
A prior that favours probabilities of 0
With exponents below 1 the posterior has no mode. The parameters shown are the mode in log θ:
expected counts plus alpha, normalised. Other scores are defined for every prior; Laplace's
approximation in probabilities is not.

ROWS_AS_INDEPENDENT
Probabilities assume independent rows
Rows were drawn in strata or clusters. Standard errors account for that; evidence, probabilities of
models and tests do not. If rows of a unit are dependent given their class, fewer classes may be
enough.

BETWEEN_NUMBERS
! Numbers depend on each other, which no edge can represent
In these graphs a number cannot be a parent, so two numbers are independent given their parents. The
data contradict that. Put numbers into bins, so that edges can join them, or compare classes with
covariances (--covariance full).

MANY_EDGES
Many more edges than the default priors give
A large equivalent sample size, or a prior under which each graph is equally probable, joins
variables that do not depend on each other. Leave out --alpha and --graph-prior.

NOT_COMPLETELY_AT_RANDOM
Cells are not missing completely at random
A graph search assumes that cells are missing at random: missingness may depend on observed values,
but not on the missing one. That cannot be tested, but missingness is associated with other columns
here. `lacunet compare-missing` compares models of both assumptions.

FEW_CASES
! A class with fewer cases than its covariance needs
In some direction the data do not determine the covariance of that class, so the prior does. Use
fewer classes, one covariance for all classes, or smaller blocks.

EMPTY_CLASS EMPTY_STATE
A class without cases
The data do not need it: fewer classes explain them equally well.

DUPLICATE_CLASSES
Two classes that are the same
They have the same distribution of every variable: use fewer classes.

NO_CLEAR_MATCH
! A class that has no clear match in another group
Classes of groups are matched by their profiles. This one resembles several, or none: do not compare
its size between groups.

SEPARATED
! A covariate that predicts a class with certainty
The likelihood is unbounded in its coefficient, so there is no estimate. Use the MAP, whose prior
bounds it, or leave the covariate out.

WITHOUT_END WITHOUT_INFORMATION SEPARATED_REPLICATES NO_MAXIMUM CLASS_WITHOUT_ROWS \
CLASS_WITHOUT_OUTCOME FEW_CASES_OF_CLASS SHARE_AT_BOUNDARY NO_SPREAD
Estimates that do not exist, or have no standard error
The data do not determine them, so the table shows dashes for them and for their tests. All other
numbers of the table are valid.

NARROW_CLASS
A class narrower than the rounding of its numbers
Its cases repeat the same rounded values, so its density is overconfident. Treat the column as
categories, or use a stronger prior.

FEW_PAIRS
Columns that are rarely observed together
So few rows do not determine their covariance within a class, so the prior does. Give them no
covariance (--covariance with other blocks), or one that all classes share.

NO_EXPECTED_CASES
Probabilities of 0 or 1
In some class no case has some of the answers. That is a result, not an error; but standard errors
and Laplace's approximation are poor at the boundary.

UNKNOWABLE
! A hidden variable that the data do not identify
No observed value depends on it, so its table is that of the prior.

IMPOSSIBLE_DATA IMPOSSIBLE_ROW
! Rows that are impossible under the model
Some row has probability 0 under the fitted parameters, so this score does not exist.

FAILED NOT_MEASURED
! A number that could not be computed
The computation failed for the given reason, so there is no value. Other results do not depend on
it.

NOT_POSITIVE_DEFINITE
! A score failed: the fit is not at a maximum
The score needs the curvature of the posterior at its mode. Here it is flat or a saddle point,
usually because there are too many classes. Use other scores.

NEARLY_SINGULAR
! A score is unreliable: the posterior is nearly flat
The curvature is too small to be computed accurately. Use other scores.

ON_BOUNDARY
! A score failed: a probability is exactly 0
The score needs a maximum in the interior, not at the boundary. Use --estimate map, or other scores.

NOT_AT_MAXIMUM
A score was evaluated away from the maximum
It approximates the posterior around its mode, but these parameters are not the mode (they may
maximise the likelihood instead).

WIDE_GAUSSIAN
Laplace's approximation is too high
Some parameters are so uncertain that the Gaussian does not fit between 0 and 1.

BELOW_BOUND ABOVE_ZERO
A score is far from the evidence
The posterior is too skewed, as with few cases or a small alpha. Use csl with occupancy, variational
Bayes, which is a bound, or measure the evidence.

CHAINS_DISAGREE CHAINS_STAY
! Sampling has not converged
Chains from different starts sample different parts of the posterior.

MORE_LABELLINGS ONE_VARIABLE_AT_A_TIME
Not all labellings, or numbers of used states, are counted
The network has too many of them, so some are left out or treated separately: the value may be too
low.

LOWER_BOUND MISSED_MODE UNDER_LOWER_BOUND OVER_UPPER_BOUND FEW_CHAINS SEEN_ONCE STARTS_DISAGREE
! The measured evidence is a lower bound
Sampling was too short, or too few chains dominate it, so its standard error is unreliable. Raise
the budget.
"""


def _read(paragraph: str) -> Meaning:
    kinds, title, *words = paragraph.splitlines()
    named = tuple(Kind[name] for name in kinds.split())
    return Meaning(named, title.removeprefix("! "), " ".join(words), title.startswith("! "))


MEANINGS = tuple(map(_read, CATALOGUE.strip().split("\n\n")))
OTHER = Meaning((), "Also worth knowing", "")


def warnings(selection: Selection) -> list[dict[str, Any]]:
    """Group all flags of a selection by meaning; those of the chosen candidate come first."""
    by_meaning: dict[Meaning, dict[str, Any]] = {}
    for where, flag, chosen in _cases(selection):
        key = meaning(flag)
        warned = by_meaning.setdefault(key, {"meaning": key, "cases": [], "chosen": False})
        warned["cases"].append((where, flag))
        warned["chosen"] |= chosen
    return sorted(
        by_meaning.values(),
        key=lambda w: (not w["chosen"], not w["meaning"].serious, w["meaning"] is OTHER),
    )


def meaning(flag: Flag) -> Meaning:
    """Return the explanation of a flag.

    >>> meaning(Flag(Kind.EMPTY_CLASS, ("class", "4"), {"cases": 0.1})).title
    'A class without cases'
    """
    return next((m for m in MEANINGS if flag.kind in m.kinds), OTHER)


def _cases(selection: Selection) -> Iterator[tuple[str, Flag, bool]]:
    """Yield each flag with its origin, and whether it belongs to the chosen candidate."""
    for c in selection.candidates:
        chosen = c.label == selection.label
        yield from ((c.title, flag, chosen) for flag in c.flags)
        for name, evidence in c.scores.items():
            yield from ((f"{c.title}, {TITLES[name]}", flag, chosen) for flag in evidence.flags)
