"""The page of a fitted latent class model: its classes, its items with standard errors."""

import pytest

import lacunet
from lacunet.report.page import write_network_report
from lacunet.report.page.network_page import fitted_answer, on_a_page
from lacunet.report.page.selection_page import tiles
from lacunet.selection import sentences


@pytest.fixture(scope="module")
def table():
    return lacunet.load_dataset("values")


def test_it_speaks_of_classes_and_has_their_profiles(table, tmp_path):
    fit = lacunet.fit(table, 2, starts=4)
    others = {"Precision": on_a_page(lacunet.intervals(table, fit))}
    answer = fitted_answer(fit, table, lacunet.Settings(), others)
    page = write_network_report(answer, tmp_path / "page.html").read_text("utf-8")
    assert "What do the classes look like?" in page
    assert "2 classes; log likelihood −504." in page
    assert 'aria-label="Profiles of class as a heat map"' in page
    assert page.count("Items by class") == 2  # a title, and what is said to those who hear it
    assert "lacunet.fit(data, 2, alpha=" in page


def test_long_tables_are_folded(table, tmp_path):
    fit = lacunet.fit(table, 16, starts=1, schedule="default")
    others = {"Precision": on_a_page(lacunet.intervals(table, fit))}
    answer = fitted_answer(fit, table, lacunet.Settings(), others)
    page = write_network_report(answer, tmp_path / "page.html").read_text("utf-8")
    assert "<summary>80 rows</summary>" in page


def test_unknown_probabilities_are_not_shown(table, monkeypatch):
    chosen = lacunet.select(table, [1, 2, 3], starts=4, quick=True)
    assert tiles(chosen, [])[0][1] != "–"
    monkeypatch.setattr("lacunet.report.page.selection_page.cannot_tell", lambda _: True)
    assert tiles(chosen, [])[0][1:] == ("–", "unknown: the search is unstable")
    assert not sentences.cannot_tell(chosen)
