"""Very many rows: a part of them says where the maxima are, all of them which is best, and where.

A search takes hundreds of E steps, each over all rows. But a maximum that a hundred thousand rows
show is near to one of all of them. So starts race, climb and exchange states on a part, and only
the few maxima that were found there are climbed with all rows, to the same end as ever.
"""

from collections.abc import Callable
from dataclasses import replace

from lacunet.learn.objective import Objective
from lacunet.learn.ranks import Rank, best_of
from lacunet.learn.schedules import Search, climb_all, finish

SEARCHED = 0.3  # of the progress of a fit, when the part is searched


def search_part_first(
    objective: Objective, part: Objective, search: Callable[[Objective], Search], rank: Rank
) -> Search:
    """Search a part of the rows, then climb from what was found there, by a rank, with all."""
    executor = objective.executor
    found = search(replace(part, executor=part.executor.part(0.0, SEARCHED)))
    thetas = [found.climb.point.theta, *(point.theta for point in found.others)]
    climbs = climb_all(objective, objective.at_all(thetas), rank)
    _, winner = best_of(objective, climbs, rank)
    ended = finish(replace(objective, executor=executor.part(SEARCHED, 1.0)), climbs, winner, rank)
    # Whoever ended where the part has its best maximum would have ended here, with all rows.
    reached = ended.reached + found.reached - 1 if winner is climbs[0] else ended.reached
    doubt = ended.doubt if len(climbs) > 1 else found.doubt
    return replace(
        ended,
        finalists=max(found.finalists, reached),
        reached=reached,
        doubt=doubt if reached == 1 else 0.0,
    )
