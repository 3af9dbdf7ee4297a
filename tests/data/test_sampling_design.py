"""Columns that say how rows were drawn: read beside items, kept through merging."""

import numpy as np
import pytest

import lacunet
from lacunet.errors import DataError, OptionError
from surveys import clustered

DESIGN = {"weights": "w", "strata": "stratum", "clusters": "unit"}


@pytest.fixture
def frame():
    return clustered(0, strata=3, units=4, people=10, missing=0.1)


def test_they_are_no_items_and_what_units_weigh_is_kept(frame):
    table = lacunet.read_table(frame, **DESIGN)
    assert [c.name for c in table.columns] == list("ABCDE")
    design = table.design
    assert (design.units, design.degrees, design.people) == (12, 9, 120.0)
    np.testing.assert_allclose(design.counts(np.ones(12), len(table.codes)), table.counts)
    share = frame.groupby("unit")["w"].sum() / frame["w"].sum()
    weights = np.bincount(design.unit, design.weight) / table.weight
    np.testing.assert_allclose(weights, share.to_numpy(), rtol=1e-12)
    assert table.notes[-1] == (
        "the sample has 12 units ('unit') in 3 strata ('stratum'), 9 degrees of freedom."
    )


def test_rows_of_each_unit_are_found_again_after_columns_were_sorted(frame):
    columns = ["D", "B", "A", "E", "C", "unit", "w", "stratum"]
    table = lacunet.read_table(frame[columns], **DESIGN).in_canonical_order
    again = lacunet.read_table(frame, **DESIGN)
    for name in ("row", "unit", "weight", "stratum", "copies"):
        one, other = getattr(table.design, name), getattr(again.design, name)
        np.testing.assert_array_equal(one, other)


def test_files_of_text_and_whole_weights(frame, tmp_path):
    frame.assign(w=frame["w"].round().clip(1).astype(int)).to_csv(tmp_path / "s.csv", index=False)
    table = lacunet.read_table(tmp_path / "s.csv", **DESIGN)
    assert table.survey is not None  # weights of a sample that has a design are not counts
    counts = lacunet.read_table(tmp_path / "s.csv", **DESIGN, weights_as="frequency")
    assert counts.survey is None
    assert counts.design.people == counts.weight
    plain = lacunet.read_table(tmp_path / "s.csv", clusters="unit", exclude=["w", "stratum"])
    assert (plain.weights, plain.design.units, plain.weight) == (None, 12, 120.0)


def test_rows_that_weigh_nothing_stay_part_of_the_design(frame):
    """So a part of the people is looked at as it should be: weight 0 for the others."""
    some = frame.assign(w=frame["w"].where(frame["unit"] > 102, 0.0))
    assert lacunet.read_table(some, **DESIGN).design.units == 12


def test_what_is_wrong_is_named(frame, tmp_path):
    def refused(given, kind=DataError, **changes):
        with pytest.raises(kind) as error:
            lacunet.read_table(given, **{**DESIGN, **changes})
        return str(error.value)

    assert refused(frame, OptionError, strata="strat").startswith(
        "strata: there is no column 'strat' in pandas DataFrame. Did you mean 'stratum'?"
    )
    assert refused(frame, OptionError, columns=["A", "unit"]) == (
        "column 'unit' cannot be both a variable and part of the design (strata=, clusters=). "
        "Name it once."
    )
    anew = frame.assign(unit=frame["unit"] % 4)
    assert refused(anew) == (
        "unit '0' is in more than one stratum of 'stratum': 'region 0' and 'region 2' "
        "(4 units are). A unit is drawn from one stratum. If numbers of units begin anew in each "
        "stratum, both columns tell a unit: clusters=['stratum', 'unit']."
    )
    missing = frame.astype({"stratum": object})
    missing.loc[7, "stratum"] = None
    gap = "the cell is missing. Every row was drawn from some stratum and unit: fill it in"
    assert refused(missing).startswith(f"column 'stratum', row 8: {gap}")
    missing.to_csv(tmp_path / "holes.csv", index=False)
    assert f"column 'stratum', row 8 (line 9): {gap}" in refused(tmp_path / "holes.csv")
    assert refused(frame.assign(unit=1), strata=None, exclude=["stratum"]).startswith(
        "the whole sample is one unit, so the variance between units is unknown."
    )


def test_weights_that_do_not_sum_to_the_rows_are_reported(frame):
    table = lacunet.read_table(frame.drop(columns=["stratum", "unit"]), weights="w")
    assert f"They sum to {frame['w'].sum():,.6g}, not to the number of rows" in table.notes[0]
    scaled = frame.assign(w=frame["w"] / frame["w"].mean()).drop(columns=["stratum", "unit"])
    assert "They sum to" not in lacunet.read_table(scaled, weights="w").notes[0]
