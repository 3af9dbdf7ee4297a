"""A long range of numbers of states is followed as far as the evidence says that it is worth it.

The evidence of data of four classes falls from four on, and every further class takes longer to fit
than the one before. So a few numbers are looked at first, further and further apart; where the
evidence is far below the best and falls still, the range ends. Short ranges are tried whole.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.data.table import Table
from lacunet.fitting.fit import Options
from lacunet.inference.plausible import FAILURES
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.dimension import identified_parameters
from lacunet.models.prior import Alpha, dirichlet
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import RECOMMENDED, applicable
from lacunet.selection.candidates import Proposal, Selection
from lacunet.selection.evaluating import candidates_of
from lacunet.selection.reach import ENOUGH, FEWEST_ROWS, FIRST, FURTHER, MOST_WORK, Reach
from lacunet.selection.screening import NEGLIGIBLE, guesses

SHORT = 24  # numbers that are tried whatever comes of it
FAR = 30.0  # nats below the best; e⁻³⁰ of its probability
LOOKED = 0.3  # of the likely time; the rest is for those that are tried


@dataclass(frozen=True)
class Followed:
    """What there is to try, and where the range was left, if it was."""

    proposals: tuple[Proposal, ...]
    reach: Reach | None = None


def follow(
    table: Table,
    proposals: Sequence[Proposal],
    options: Options,
    alpha: Alpha,
    executor: Executor = SERIAL,
    kept: Kept = FORGETFUL,
) -> Followed:
    """Look how far a range of numbers of states is worth trying."""
    numbers = [p.label for p in proposals if isinstance(p.label, int)]
    whole = Followed(tuple(proposals))
    if len(numbers) < len(proposals) or len(numbers) <= SHORT:
        return whole
    look = partial(_log_evidence, table, options, alpha, executor.part(0.0, LOOKED), kept)
    seen: dict[int, float] = {}
    for place in further_and_further(len(numbers)):
        before, k = list(seen)[-1:], numbers[place]
        seen[k] = look(proposals[place])
        best = max(seen, key=lambda number: seen[number])
        for last in before:
            tried = tuple(p for p in proposals if p.label in range(last + 1))
            if len(tried) >= SHORT and FAR < seen[best] - seen[last] < seen[best] - seen[k]:
                return Followed(tried, Reach(best, last, numbers[-1], seen[best] - seen[last]))
    return whole


def further_and_further(number: int) -> list[int]:
    """Give places of a range: powers of two, and one in the middle between two of them.

    >>> [place + 1 for place in further_and_further(40)]
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40]
    """
    powers = [2**i for i in range(number.bit_length())]
    counts = {*powers, *(p + p // 2 for p in powers), number}
    return sorted(count - 1 for count in counts if count <= number)


def _log_evidence(
    table: Table, options: Options, alpha: Alpha, executor: Executor, kept: Kept, proposal: Proposal
) -> float:
    """Take the score that the answer would go by, all labellings counted."""
    problem = build_problem(table, proposal.network, dirichlet(proposal.network, alpha))
    score = applicable(RECOMMENDED, problem)[0]
    try:
        (found,) = candidates_of(
            [proposal], [problem], scores=[score], options=options, executor=executor, kept=kept
        )
    except FAILURES:  # why is said where it is asked for
        return -math.inf
    value = found.scores[score.name].value
    return value if score.every_labelling else value + found.log_labellings


def lengthened(
    table: Table,
    proposals: Sequence[Proposal],
    fit: Callable[[Sequence[Proposal]], Selection],
    measure: Callable[[Selection], Selection],
) -> Selection:
    """Try the first numbers of a range that nobody gave, and more of them while more are probable.

    What is found is what the whole range to its last number would give. Where the last number is
    far ahead by its score, nothing is measured before more are tried. Beyond the first number with
    more parameters than any data of these columns could determine the range does not go.
    """
    ends = ends_worth(table, len(proposals))
    for last in ends:
        found = fit(proposals[:last])
        last_of_all = last == ends[-1] or not _identifiable(proposals[last - 1])
        if not last_of_all and _rising(found):
            continue
        found = measure(found)
        if last_of_all or found.more is None or found.more <= ENOUGH:
            break
    return replace(found, extended=len(found.candidates) > FIRST)


def ends_worth(table: Table, most: int) -> list[int]:
    """Say how far a range is followed by itself.

    A stretch must not be too much work, and leave ten rows for each class: where items are near one
    half, classes of one row each make the data as probable as one class does, however many there
    are, and such a range would not end.

    >>> from types import SimpleNamespace
    >>> sizes = (50, 500, 200_000)
    >>> tables = [SimpleNamespace(weight=n, distinct_rows=n, columns=range(10)) for n in sizes]
    >>> [ends_worth(table, 32) for table in tables]
    [[8], [8, 12, 16, 24, 32], [8, 12]]
    >>> ends_worth(tables[1], 10)
    [8, 10]
    """
    cells, ends = table.distinct_rows * len(table.columns), [min(FIRST, most)]
    for further in FURTHER:
        last = min(further, most)
        work = cells * sum(range(ends[-1] + 1, last + 1))
        if last == ends[-1] or work > MOST_WORK or table.weight < FEWEST_ROWS * last:
            break
        ends.append(last)
    return ends


def _identifiable(proposal: Proposal) -> bool:
    return identified_parameters(proposal.network) is None


def _rising(found: Selection) -> bool:
    """Whether the last number is so far ahead by its score that more must be tried."""
    values = [v if math.isfinite(v) else -math.inf for v in guesses(found).values()]
    return values[-1] > max(values[:-1], default=math.inf) + NEGLIGIBLE
