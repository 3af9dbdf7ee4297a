"""Explanations of all warnings: meaning and recommended action."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lacunet.flags import Flag, Kind
from lacunet.selection.candidates import Selection
from lacunet.selection.grids import TITLES


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
The step limit came first, so the fit and all scores taken at it are a little too low. Run it again
with --schedule thorough.

UNSTABLE
! Only one start found the best fit
All other starts ended lower, so there may be a better fit. Use more starts, or --schedule thorough,
to find it.

TOO_MANY_PARAMETERS FEW_DISTINCT_ROWS
! More parameters than the data can determine
Different profiles fit the data exactly alike, so the prior chooses among them: do not interpret the
classes of such a model. Take fewer classes, or more columns or rows.

MISFIT
! The model does not reproduce the data
Tables drawn from the fitted model differ from yours in what is named: answers that go together
beyond their classes, or numbers that are skewed, heavy-tailed or correlated within them. More
classes then only imitate that. `lacunet select` compares models that allow for it.

MASS_ELSEWHERE
The best fit is a narrow peak
The parameters that are shown are the most probable ones, but a broader optimum near by holds more
of the posterior. Probabilities of the candidates count that mass. Such peaks often have a small
class: see whether it means something to you.

SINGLE_START
There was one start only
EM converges to the maximum that is uphill from its start. There may be a higher one: use more
starts.

FLAT_DIRECTION
The data hardly tell some parameters
Along some direction the parameters can change nearly without any effect on the fit. Profiles may
differ from run to run there; fewer classes may do.

NO_MAP NO_MODE
A prior that favours probabilities of 0
With exponents below 1 no parameters are the most probable ones. Those that are shown have the most
probable logarithms: expected counts, with alpha added to each. Other scores are defined for every
prior; Laplace's approximation in probabilities is not.

ROWS_AS_INDEPENDENT
Probabilities take rows as independent
Rows were drawn in strata or clusters. Standard errors account for that; evidence, probabilities of
models and tests do not. Where rows of a unit resemble each other beyond their classes, a model with
fewer classes may do.

BETWEEN_NUMBERS
! Numbers depend on each other, which no edge can say
In these graphs a number cannot be a parent, so two numbers are independent given their parents. The
data contradict that. Put numbers into bins, so that edges can join them, or compare classes with
covariances (--covariance full).

MANY_EDGES
Many more edges than the default priors give
A large equivalent sample size, or a prior under which each graph is equally probable, joins
variables that do not depend on each other. Leave out --alpha and --graph-prior.

NOT_COMPLETELY_AT_RANDOM
Cells are not missing completely at random
A search for a graph takes cells to be missing at random: by what is seen, not by the missing value
itself. That cannot be tested, but which cells are missing goes with other columns here. `lacunet
compare-missing` compares models of both readings.

FEW_CASES
! A class with fewer cases than its covariance needs
In some direction the data say nothing of how the columns vary together in that class, so the prior
does. Take fewer classes, one covariance for all classes, or smaller blocks.

EMPTY_CLASS EMPTY_STATE
A class that nobody is in
The data do not need it: fewer classes explain them just as well.

DUPLICATE_CLASSES
Two classes that are the same
They make the same of every variable, so they count as one class: fewer would do.

NO_CLEAR_MATCH
! A class that has no clear match in another group
Classes of groups are numbered by what they answer. This one resembles several, or none: do not
compare its size between groups as if it were one class.

SEPARATED
! A covariate that tells a class with certainty
The likelihood rises without end as its coefficient grows, so there is no estimate to speak of. The
prior of the MAP holds it; or leave the covariate out.

WITHOUT_END WITHOUT_INFORMATION SEPARATED_REPLICATES NO_MAXIMUM CLASS_WITHOUT_ROWS \
CLASS_WITHOUT_OUTCOME FEW_CASES_OF_CLASS SHARE_AT_BOUNDARY NO_SPREAD
Estimates that do not exist, or have no standard error
The data do not determine them, so dashes stand in their place, and in that of tests of them. All
other numbers of the table are as they should be.

NARROW_CLASS
A class that is narrower than its numbers are exact
Its cases have the same rounded values, again and again, so that its density is overconfident. Read
the column as categories, or expect wider classes.

FEW_PAIRS
Columns that are hardly ever seen together
How they vary together within a class cannot be told from so few rows, so the prior does. Give them
no covariance (--covariance with other blocks), or one that all classes share.

NO_EXPECTED_CASES
Probabilities of 0 or 1
In some class no case has some of the answers. That is a finding, not a fault; but standard errors,
and Laplace's approximation, are poor at such an edge.

UNKNOWABLE
! A hidden variable that the data say nothing about
No row shows anything that depends on it, so its table is that of the prior.

IMPOSSIBLE_DATA IMPOSSIBLE_ROW
! Rows that the model calls impossible
Some row has probability 0 under the fitted parameters, so this score does not exist.

FAILED NOT_MEASURED
! A number that could not be computed
The arithmetic failed, for the reason that is given, so there is no value. The other results do not
depend on it.

NOT_POSITIVE_DEFINITE
! A score failed: the fit is not at a clean maximum
The score needs the curvature of the posterior at its top. Here that is flat or a saddle, usually
because there are more classes than the data can tell apart. Go by other scores.

NEARLY_SINGULAR
! A score is not to be trusted: the posterior is nearly flat
The curvature that it needs is too small to be computed well. Go by other scores.

ON_BOUNDARY
! A score failed: a probability is exactly 0
The score needs a maximum inside, not at the edge. Use --estimate map, or other scores.

NOT_AT_MAXIMUM
A score was taken away from the maximum it needs
It approximates the posterior around its top, but these parameters are not the top (they may
maximise the likelihood instead).

WIDE_GAUSSIAN
Laplace's approximation is too high
Some parameters are so uncertain that the bell curve does not fit between 0 and 1.

BELOW_BOUND ABOVE_ZERO
A score is too far from what it approximates
The posterior is too skewed for it, as it is with few cases or a small alpha. Go by csl with
occupancy, by variational Bayes, which is a bound, or measure the evidence.

CHAINS_DISAGREE CHAINS_STAY
! Sampling has not settled
Chains from different starts see different parts of the posterior.

MORE_LABELLINGS ONE_VARIABLE_AT_A_TIME
Not every way to label, or to leave unused, what is hidden is counted
The network has so many of them, or of such a kind, that some are left out or taken one by one: the
value may be somewhat too low.

LOWER_BOUND MISSED_MODE UNDER_LOWER_BOUND OVER_UPPER_BOUND FEW_CHAINS SEEN_ONCE STARTS_DISAGREE
! The measured evidence is a lower bound
Sampling was too short, or too few chains carry it, for its error bar to be believed. Give it more
time.
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
    'A class that nobody is in'
    """
    return next((m for m in MEANINGS if flag.kind in m.kinds), OTHER)


def _cases(selection: Selection) -> Iterator[tuple[str, Flag, bool]]:
    """Yield each flag with its origin, and whether it belongs to the chosen candidate."""
    for c in selection.candidates:
        chosen = c.label == selection.label
        yield from ((c.title, flag, chosen) for flag in c.flags)
        for name, evidence in c.scores.items():
            yield from ((f"{c.title}, {TITLES[name]}", flag, chosen) for flag in evidence.flags)
