"""The small tables and files that the recorded runs read: drawn once, by fixed seeds."""

import csv
import json
from pathlib import Path

import numpy as np

MISSING = ""


def write_inputs(folder: Path) -> None:
    """Write every table and every file of knowledge or structure into a folder."""
    for name, columns in (
        ("answers", _answers(1, 90)),
        ("holes", _with_missing_values(_answers(2, 80), 0.12)),
        ("weighted", {**_answers(3, 40), "w": _frequencies(3, 40)}),
        ("survey", _survey()),
        ("people", _people()),
        ("numbers", _numbers()),
        ("predicted", _predicted()),
        ("groups", _groups()),
        ("pairs", _pairs()),
        ("chain", _chain()),
        ("chain_holes", _with_missing_values(_chain(), 0.1)),
        ("informative", _informative()),
        ("tests", _tests()),
        ("skipped", _skipped()),
        ("two_causes", _two_causes()),
        ("new", _with_missing_values(_answers(9, 6), 0.3)),
        ("six", _with_missing_values(_answers(10, 12, items=3), 0.1)),
    ):
        _write(folder / f"{name}.csv", columns)
    for name, document in _documents().items():
        (folder / name).write_text(json.dumps(document))


def _write(path: Path, columns: dict[str, list[object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _words(codes: np.ndarray, states: tuple[str, ...]) -> list[object]:
    return [states[k] for k in codes]


def _classes(rng: np.random.Generator, rows: int, classes: int = 2) -> np.ndarray:
    return rng.integers(0, classes, rows)


def _item(rng: np.random.Generator, cause: np.ndarray, states: int = 2, sure: float = 0.8):
    """Draw an item that follows its cause with a probability, else is any state."""
    follows = rng.random(len(cause)) < sure
    return np.where(follows, cause % states, rng.integers(0, states, len(cause)))


def _answers(seed: int, rows: int, items: int = 5) -> dict[str, list[object]]:
    """Two classes of rows; items of two and three states."""
    rng = np.random.default_rng(seed)
    kind = _classes(rng, rows)
    names = "ABCDE"[:items]
    columns = {}
    for i, name in enumerate(names):
        states = ("a", "b", "c") if i == 2 else ("no", "yes")
        columns[name] = _words(_item(rng, kind, len(states)), states)
    return columns


def _with_missing_values(columns: dict[str, list[object]], share: float) -> dict[str, list[object]]:
    rng = np.random.default_rng(7)
    return {
        name: [MISSING if rng.random() < share else x for x in cells]
        for name, cells in columns.items()
    }


def _frequencies(seed: int, rows: int) -> list[object]:
    return [int(x) for x in np.random.default_rng(seed).integers(1, 5, rows)]


def _survey() -> dict[str, list[object]]:
    rng = np.random.default_rng(4)
    rows = 80
    village = rng.integers(0, 12, rows)
    columns = _with_missing_values(_answers(4, rows, items=4), 0.05)
    columns["w"] = [round(float(x), 3) for x in rng.gamma(2.0, 1.0, rows)]
    columns["region"] = [f"r{v % 3}" for v in village]
    columns["village"] = [f"v{v}" for v in village]
    return columns


def _people() -> dict[str, list[object]]:
    """Measurements, counts, ordered answers and categories of two classes."""
    rng = np.random.default_rng(5)
    rows = 70
    kind = _classes(rng, rows)
    columns: dict[str, list[object]] = {
        "height": [round(float(x), 1) for x in 165 + 14 * kind + rng.normal(0, 6, rows)],
        "weight": [round(float(x), 1) for x in 62 + 15 * kind + rng.normal(0, 8, rows)],
        "visits": [int(x) for x in rng.poisson(1 + 4 * kind)],
        "agree": [int(x) for x in 1 + rng.binomial(4, np.where(kind, 0.75, 0.3))],
        "sex": _words(_item(rng, kind), ("female", "male")),
    }
    return _with_missing_values(columns, 0.06)


def _numbers() -> dict[str, list[object]]:
    """Numbers that depend on each other: parents among categories and one amount."""
    rng = np.random.default_rng(6)
    rows = 90
    place = rng.integers(0, 3, rows)
    return {
        "place": _words(place, ("x", "y", "z")),
        "open": _words(_item(rng, place), ("no", "yes")),
        "length": [round(float(x), 2) for x in 2 * place + rng.normal(size=rows)],
        "income": [round(float(x), 2) for x in np.exp(1 + 0.6 * place + rng.normal(size=rows))],
        "calls": [int(x) for x in rng.poisson(2 + 2 * (place == 1))],
    }


def _predicted() -> dict[str, list[object]]:
    """Two classes that covariates predict, and outcomes that they differ in."""
    rng = np.random.default_rng(8)
    rows = 140
    age = rng.integers(20, 70, rows)
    region = rng.integers(0, 3, rows)
    chance = 1 / (1 + np.exp(-(age - 45) / 9 - 0.6 * (region == 2)))
    kind = (rng.random(rows) < chance).astype(int)
    columns: dict[str, list[object]] = {
        name: _words(_item(rng, kind, sure=0.85), ("no", "yes")) for name in "ABCD"
    }
    columns["age"] = [int(x) for x in age]
    columns["region"] = _words(region, ("north", "south", "west"))
    columns["income"] = [round(float(x), 1) for x in 30 + 12 * kind + rng.normal(0, 5, rows)]
    columns["votes"] = _words(_item(rng, kind, 3, 0.5), ("left", "none", "right"))
    columns["A"] = [MISSING if rng.random() < 0.08 else x for x in columns["A"]]
    return columns


def _groups() -> dict[str, list[object]]:
    """Two classes in two countries: one item is answered differently in one of them."""
    rng = np.random.default_rng(11)
    rows = 160
    kind, country = _classes(rng, rows), rng.integers(0, 2, rows)
    columns: dict[str, list[object]] = {
        name: _words(_item(rng, kind), ("no", "yes")) for name in "ABC"
    }
    columns["D"] = _words(_item(rng, np.where(country, 1 - kind, kind)), ("no", "yes"))
    columns["country"] = _words(country, ("de", "fr"))
    return columns


def _pairs() -> dict[str, list[object]]:
    """Two classes, and an item that also follows another item."""
    rng = np.random.default_rng(12)
    rows = 160
    kind = _classes(rng, rows)
    columns = {name: _item(rng, kind) for name in "ABCD"}
    columns["E"] = _item(rng, columns["D"], sure=0.75)
    return {name: _words(codes, ("no", "yes")) for name, codes in columns.items()}


def _chain() -> dict[str, list[object]]:
    """Complete rows of A → B → C, with D behind A and C, and E alone."""
    rng = np.random.default_rng(13)
    rows = 110
    a = rng.integers(0, 2, rows)
    b = _item(rng, a)
    c = _item(rng, b, 3, 0.7)
    d = _item(rng, a + c, 2, 0.85)
    e = rng.integers(0, 2, rows)
    return {
        "A": _words(a, ("no", "yes")),
        "B": _words(b, ("no", "yes")),
        "C": _words(c, ("x", "y", "z")),
        "D": _words(d, ("no", "yes")),
        "E": _words(e, ("no", "yes")),
    }


def _informative() -> dict[str, list[object]]:
    """Missing values that go with the class."""
    rng = np.random.default_rng(14)
    rows = 120
    kind = _classes(rng, rows)
    columns = {name: _words(_item(rng, kind), ("no", "yes")) for name in "ABCD"}
    for name in "AB":
        gone = rng.random(rows) < np.where(kind, 0.45, 0.05)
        columns[name] = [MISSING if g else x for g, x in zip(gone, columns[name], strict=True)]
    return columns


def _tests() -> dict[str, list[object]]:
    """A culture with known errors, and two readers that were trained alike."""
    rng = np.random.default_rng(15)
    rows = 150
    ill = (rng.random(rows) < 0.25).astype(int)
    columns: dict[str, list[object]] = {}
    for name, (false, true) in {
        "culture": (0.05, 0.9),
        "first": (0.1, 0.7),
        "second": (0.1, 0.7),
    }.items():
        positive = rng.random(rows) < np.where(ill, true, false)
        columns[name] = _words(positive.astype(int), ("negative", "positive"))
    return _with_missing_values(columns, 0.08)


def _skipped() -> dict[str, list[object]]:
    """A question for some people only."""
    rng = np.random.default_rng(16)
    smokes, age = rng.random(150) < 0.4, rng.integers(0, 3, 150)
    much = rng.random(150) < 0.2 + 0.3 * age
    amount = np.where(smokes, np.where(much, "much", "some"), "none")
    return {
        "smokes": _words(smokes.astype(int), ("no", "yes")),
        "age": [int(x) for x in age],
        "amount": [str(x) for x in amount],
    }


def _two_causes() -> dict[str, list[object]]:
    """Seven items behind two variables that no column shows."""
    rng = np.random.default_rng(17)
    rows = 220
    first = rng.integers(0, 2, rows)
    second = _item(rng, first, sure=0.5)
    columns = {name: _item(rng, first, sure=0.85) for name in "ABCD"}
    columns |= {name: _item(rng, second, sure=0.85) for name in "EFG"}
    return {name: _words(codes, ("no", "yes")) for name, codes in columns.items()}


def _documents() -> dict[str, dict[str, object]]:
    """Structures and knowledge, as JSON."""
    answers = ["negative", "positive"]
    reader = {"parents": ["ill"], "table": [[0.9, 0.1], [0.3, 0.7]], "alpha": 1}
    culture = {"child": "culture", "parents": ["ill"]}
    structure = {
        "format": "lacunet-model/1",
        "variables": [
            {"name": "ill", "states": ["no", "yes"], "hidden": True},
            *({"name": name, "states": answers} for name in ("culture", "first", "second")),
        ],
        "families": [
            {"child": "ill", "parents": [], "table": [0.8, 0.2], "alpha": 1},
            {**culture, "table": [[0.95, 0.05], [0.1, 0.9]], "fixed": True},
            {"child": "first", **reader},
            {"child": "second", **reader, "tied_to": "first"},
        ],
    }
    zeros = [
        {"child": "amount", "state": "some", "given": {"smokes": "no"}},
        {"child": "amount", "state": "much", "given": {"smokes": "no"}},
        {"child": "amount", "state": "none", "given": {"smokes": "yes"}},
    ]
    return {
        "tests.json": structure,
        "tied.json": {"tied": [["A", "B"]]},
        "zeros.json": {"zeros": zeros},
        "edges.json": {
            "require": [["A", "B"]],
            "forbid": [["D", "A"]],
            "tiers": [["A"], ["B", "C", "D", "E"]],
        },
        "fixed_sizes.json": {"fixed": [{"child": "A", "parents": [], "table": [0.4, 0.6]}]},
    }
