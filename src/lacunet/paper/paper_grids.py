"""The paper's tables as tables to print: ours, and the published numbers beside them."""

from collections.abc import Sequence

from lacunet.paper.experiments import PAPER_SCORES
from lacunet.paper.page import TITLES, plusminus, printed, seconds
from lacunet.paper.tables import OTHERS, Record
from lacunet.tabular import Grid

TIMED = ("em", *PAPER_SCORES)
PLACE = ("n", "c", "N")


def table1_grid(rows: Sequence[Record]) -> Grid:
    """Give Table 1: states chosen by a score − states chosen by Laplace."""
    columns = [title for s in OTHERS for title in (TITLES[s], "1996")]
    body = tuple(
        (
            *(str(row[x]) for x in PLACE),
            f"{row['laplace_states']['mean']:.1f}",
            *(
                text
                for s in OTHERS
                for text in (plusminus(row["scores"][s]), printed(row["scores"][s]))
            ),
        )
        for row in rows
    )
    title = "Table 1: states chosen by a score − states chosen by Laplace"
    return Grid(title, (*PLACE, "Laplace chose", *columns), body, frozenset())


def table2_grid(rows: Sequence[Record]) -> Grid:
    """Give Table 2: seconds."""
    columns = [title for s in TIMED for title in (TITLES[s], "1996")]
    body = tuple(
        (
            str(row["states"]),
            str(row["dimension"]),
            *(
                seconds(row["seconds"][s][when])
                for s in TIMED
                for when in ("measured", "published")
            ),
        )
        for row in rows
    )
    return Grid("Table 2: seconds", ("states", "d", *columns), body, frozenset())


def reality_grid(rows: Sequence[Record]) -> Grid:
    """Give Δm of §5."""
    body = tuple(
        (*(str(row[x]) for x in PLACE), str(row["count"]), plusminus(row), printed(row))
        for row in rows
    )
    title = "Reality check: Laplace of the hidden-root model − log BD of the best graph"
    return Grid(title, (*PLACE, "repetitions", "Δm", "1996"), body, frozenset())
