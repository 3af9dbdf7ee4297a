"""The page in a real browser: nothing on the console, nothing from outside, readable everywhere.

The engine comes with the package index (extra `browser`), so a bare clone has it. It needs
libraries of the system that a minimal machine lacks: there these tests are skipped.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from report_cases import EVIL, EVIL_STATES

from lacunet.models.latent_class import is_latent_class

pytestmark = pytest.mark.slow  # a browser starts, and loads every page

BROWSER = Path(__file__).with_name("browser.py")
PHONE, DESK = 390, 1100
SHOWN = ("survey", "evil", "failed", "nothing", "wide", "compare")
READABLE = 4.5  # contrast of text, as WCAG AA asks
CHARTS = [name for name in SHOWN if name != "nothing"]


@pytest.fixture(scope="module")
def visits(pages, tmp_path_factory):
    """Give what the browser found on every page, {'page width': ...}, by colour scheme."""
    load = "import PySide6.QtWebEngineWidgets"
    tried = subprocess.run([sys.executable, "-c", load], capture_output=True, check=False)
    if tried.returncode and os.environ.get("LACUNET_PEERS") != "required":
        last = tried.stderr.decode("utf-8", "replace").splitlines()[-1:]
        pytest.skip(f"no browser engine: {' '.join(last)}")

    @functools.cache
    def visit(scheme):
        out = tmp_path_factory.mktemp("browser") / f"{scheme}.json"
        files = [str(pages[name].path) for name in SHOWN]
        done = subprocess.run(
            [sys.executable, str(BROWSER), scheme, str(out), *files],
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return json.loads(out.read_text(encoding="utf-8"))

    return visit


@pytest.fixture(params=["light", "dark"])
def seen(request, visits):
    return request.param, visits(request.param)


def each(visits_by_page):
    return [(key, *key.split(), visit) for key, visit in visits_by_page.items()]


def test_pages_log_nothing_and_fetch_nothing(seen, pages):
    _, result = seen
    assert len(result) == 2 * len(SHOWN)
    for key, name, _, visit in each(result):
        assert visit["loaded"], key
        assert visit["console"] == [], key
        assert visit["requests"] == [pages[name].path.as_uri()], key


def test_page_never_scrolls_sideways(seen):
    _, result = seen
    for key, _, width, visit in each(result):
        assert visit["probe"]["innerWidth"] == int(width), key
        assert visit["probe"]["scrollWidth"] <= int(width), key


def test_overlong_tables_are_announced(seen):
    _, result = seen
    some = 0
    for key, _, _, visit in each(result):
        for wider, fades, message in visit["probe"]["cues"]:
            assert wider == fades == message, key
            some += wider
        assert visit["probe"]["broken"] == [], key
    assert some


def test_light_and_dark(seen):
    scheme, result = seen
    for key, _, _, visit in each(result):
        probe = visit["probe"]
        assert probe["dark"] == (scheme == "dark"), key
        assert (probe["paper"] < 0.1) == (scheme == "dark"), key


def test_text_can_be_read(seen):
    """Contrast of every visible text with what is behind it, and its size on the screen."""
    _, result = seen
    for key, _, _, visit in each(result):
        contrast = visit["probe"]["contrast"]
        assert contrast["ratio"] >= READABLE, (key, contrast)
        assert visit["probe"]["smallest"] >= 10, key


def test_charts_fit_into_the_page(seen):
    _, result = seen
    for key, name, width, visit in each(result):
        charts = visit["probe"]["charts"]
        assert bool(charts) == (name in CHARTS), key
        for left, right in charts:
            assert 0 <= left < right <= int(width), key


def test_pointing_shows_the_values(seen):
    """At the bar by a variable: how much it gives away."""
    _, result = seen
    for key, name, _, visit in each(result):
        texts = visit["probe"]["told"]
        assert ("explains of" in texts) == (name in CHARTS), key
        assert visit["probe"]["hidden"], key


def test_the_network_shows_its_tables_by_keyboard(seen, selections):
    _, result = seen
    for key, name, _, visit in each(result):
        probe = visit["probe"]
        network = None if name == "nothing" else selections[name].best.fit.model.network
        if network is None or is_latent_class(network):  # of latent classes a star, left out
            assert probe["nodes"] == []
            continue
        assert probe["nodes"] == [True] * len(network.variables), key  # names are inside
        above = zip(network.variables, network.parents, strict=True)
        tables = tuple(f"p({v.name})" for v, parents in above if not parents)
        assert probe["table"].startswith(tables), key  # the first is one of those on top
        assert probe["away"], key


def test_print(visits):
    for key, _, width, visit in each(visits("light")):
        if int(width) == DESK:
            assert visit["pdf"]["start"] == "%PDF-", key
            assert 2 <= visit["pdf"]["pages"] <= 30, key


def test_markup_in_data_is_text(seen):
    """Column and state names show as they are, and none of them runs."""
    _, result = seen
    for width in (PHONE, DESK):
        probe = result[f"evil {width}"]["probe"]
        assert probe["alerts"] == 0
        assert probe["scripts"] == 1  # ours
        for text in (EVIL, *EVIL_STATES[:2], "</title><script>alert(2)</script>.csv"):
            assert text in probe["text"]
