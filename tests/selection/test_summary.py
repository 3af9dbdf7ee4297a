"""The first screen of a selection."""

import numpy as np
import pytest

import lacunet
from lacunet.models.display import profile_grid
from lacunet.selection.summary import MOST_LINES, SelectionSummary, differences

LINES = 35  # that a first screen has at most, of six candidates


@pytest.fixture(scope="module")
def survey():
    return lacunet.select(lacunet.load_dataset("survey"), range(1, 5), starts=4, quick=True)


def test_the_first_screen_is_short_and_begins_with_the_answer(survey):
    lines = str(SelectionSummary(survey)).splitlines()
    assert lines[0] == survey.brief()
    assert len(lines) <= LINES < len(str(survey).splitlines())


def test_criteria_are_those_of_the_fit_statistics(survey):
    criteria = lacunet.information_criteria(survey)
    table = SelectionSummary(survey).grids()[1]
    for row, candidate in zip(table.rows, criteria.candidates, strict=True):
        shown = dict(zip(table.header, row, strict=True))
        for name in ("AIC", "BIC"):
            assert float(shown[name].lstrip("*")) == pytest.approx(
                candidate.criteria[name], abs=0.01
            )


def test_the_smallest_class_is_given_in_rows(survey):
    table = SelectionSummary(survey).grids()[1]
    smallest = [float(row[table.header.index("smallest")]) for row in table.rows]
    assert smallest[0] == 1500
    sizes = survey.best.fit.model.table("class")
    assert smallest[2] == pytest.approx(1500 * sizes.min(), abs=0.5)


def test_the_lines_that_differ_most_are_shown(survey):
    model = survey.best.fit.model
    (shown,) = (g for g in SelectionSummary(survey).grids() if g.title.startswith("Class profiles"))
    assert len(shown.rows) == 1 + MOST_LINES
    assert set(shown.rows) <= set(profile_grid(model).rows)
    spread = lambda row: np.ptp([float(x.lstrip("<>")) for x in row[1:]])  # noqa: E731
    others = set(profile_grid(model).rows) - set(shown.rows)
    assert min(map(spread, shown.rows[1:])) >= max(map(spread, others))


def test_means_differ_by_the_overlap_of_two_normal_distributions():
    rng = np.random.default_rng(0)
    rows = {"x": np.concatenate([rng.normal(0, 1, 200), rng.normal(4, 1, 200)])}
    model = lacunet.fit(rows, 2, seed=1, starts=4).model
    v = next(v for v in model.network.variables if v.name == "x")
    far, rest = differences(v, model.table("x"))
    assert far == pytest.approx(0.954, abs=0.02)  # 2 Φ(2) − 1
    assert rest == 0.0
