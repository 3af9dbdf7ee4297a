"""Very many rows: a part of them says where the maxima are, all of them which is best, and where.

A search takes hundreds of E steps, each over all rows. But a maximum that a hundred thousand rows
show is near to one of all of them. So starts race, climb and exchange states on a part, and only
the few maxima that were found there are climbed with all rows, to the same end as ever.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lacunet.fitting.ascent import Climb
from lacunet.fitting.maxima import climb_all
from lacunet.fitting.objective import Objective
from lacunet.fitting.ranks import Ranks, best_of
from lacunet.fitting.schedules import Search, finish

SEARCHED = 0.3  # of the progress of a fit, when the part is searched


def search_part_first(
    objective: Objective,
    part: Objective,
    search: Callable[[Objective], tuple[Search, ...]],
    ranks: Ranks,
) -> tuple[Search, ...]:
    """Search a part of the rows, then climb from what was found there, by ranks, with all."""
    executor = objective.executor
    found = search(replace(part, executor=part.executor.part(0.0, SEARCHED)))
    tops = {one.climb.point.g: one.climb.point for one in found}  # often one for all ranks
    points = {**tops, **{p.g: p for one in found for p in one.others}}
    climbs = climb_all(objective, objective.at_all([p.theta for p in points.values()]), ranks)
    by_top = dict(zip(points, climbs, strict=True))
    winners = [best_of(objective, climbs, rank)[1] for rank in ranks]
    whole = replace(objective, executor=executor.part(SEARCHED, 1.0))
    return tuple(
        _as_sure(own, there, climbs, winner is by_top[there.climb.point.g])
        for own, there, winner in zip(
            finish(whole, climbs, winners, ranks), found, winners, strict=True
        )
    )


def _as_sure(ended: Search, found: Search, climbs: Sequence[Climb], at_top: bool) -> Search:
    """Count the starts: what ended where the part is best would have ended here, with all rows."""
    reached = ended.reached + found.reached - 1 if at_top else ended.reached
    doubt = ended.doubt if len(climbs) > 1 else found.doubt
    return replace(
        ended,
        finalists=max(found.finalists, reached),
        reached=reached,
        doubt=doubt if reached == 1 else 0.0,
    )
