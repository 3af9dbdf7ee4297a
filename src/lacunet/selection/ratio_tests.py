"""Each number of hidden states against one less, by the bootstrap: what papers print beside BIC."""

from collections.abc import Mapping, Sequence

from lacunet.data.table import Table
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.flags import Kind
from lacunet.inference.problem import build_problem
from lacunet.models.network import Network
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.checkpoint import Kept
from lacunet.runtime.executor import Executor
from lacunet.summaries.bootstrap_test import RatioTest, ratio_of_fits
from lacunet.tabular import Grid, Shown, chance, number

STOP_AFTER = 20  # draws that gain as much as the data: p is far from small then, and soon known
TITLE = "Bootstrap likelihood-ratio tests (ML fits)"


def ratio_tests(
    table: Table,
    networks: Mapping[int, Network],
    tested: Sequence[int],
    options: Options,
    draws: int,
    executor: Executor,
    kept: Kept,
) -> dict[int, RatioTest]:
    """Test numbers of states against one less; `networks` has those too."""
    numbers = [k for k in tested if k - 1 in networks]
    fits: dict[int, Fit] = {}
    for k in sorted({n for pair in numbers for n in (pair - 1, pair)}):
        # The prior has no part in ML fits.
        problem = build_problem(table, networks[k], dirichlet(networks[k], PAPER_ALPHA))
        quiet = executor.if_worth(problem.components.nanoseconds).silent()
        fits[k] = learn(problem, options, executor=quiet)
    found = {}
    for i, k in enumerate(numbers):
        part = executor.part(i / len(numbers), (i + 1) / len(numbers), f"{k} against {k - 1}")
        found[k] = ratio_of_fits(
            fits[k - 1], fits[k], draws, stop_after=STOP_AFTER, executor=part, kept=kept
        )
    return found


def drawn_p(test: RatioTest) -> Shown:
    """Write a p-value with its Monte Carlo error; the smallest that the draws can show has none."""
    return chance(test.p_value, test.stderr if test.exceeding else None)


def how_drawn(tests: Mapping[int, RatioTest]) -> str:
    """Say how many draws there were, and what that means for p."""
    asked = max(test.asked for test in tests.values())
    stopped = any(test.stopped for test in tests.values())
    early = f" (fewer, where {STOP_AFTER} of them gain as much before)" * stopped
    least = number(1 / (1 + asked), 3)
    return (
        f"by {asked} data sets drawn from the smaller fit{early}; ± Monte Carlo standard error; "
        f"no p can be below {least}."
    )


def ratio_grid(tests: Mapping[int, RatioTest], unit: str) -> Grid:
    """One row for each test."""
    rows = tuple(
        (
            f"{k} against {k - 1}",
            number(test.statistic),
            str(len(test.replicates)),
            str(test.exceeding),
            drawn_p(test),
        )
        for k, test in tests.items()
    )
    notes = (
        f"p: {how_drawn(tests)}",
        f"A small p speaks against the smaller number of {unit}.",
        *(
            f"- {k} against {k - 1}: {flag}"
            for k, test in tests.items()
            for flag in test.flags
            if flag.kind is Kind.MORE_STATES_FIT_WORSE
        ),
    )
    header = (unit, "2 log ratio", "draws", "gain as much", "p")
    return Grid(TITLE, header, rows, frozenset({0}), notes)
