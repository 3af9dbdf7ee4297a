"""What the options of the command line may hold: texts about a table, most of them usual."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.tables import RandomTable

WRONG = 0.04  # share of the values that are wrong on purpose
PLAIN = re.compile(r"[A-Za-zÀ-ž]\w*")  # names that stand in graphs as they are


@dataclass
class Scene:
    """A folder with a table, and perhaps a model, and what is drawn from."""

    rng: np.random.Generator
    table: RandomTable
    data: str
    lines: list[list[str]] = field(default_factory=list)

    def one(self, values: Any) -> str:
        return str(values[int(self.rng.integers(len(values)))])

    def rarely(self, usual: Any, wrong: Any) -> str:
        """Give one of the usual values, and now and then a wrong one."""
        return self.one(wrong if self.rng.random() < WRONG else usual)

    def name(self) -> str:
        """Give a column: rarely one that there is not."""
        return self.rarely(self.table.names, ["zz", "", "class"])

    def some(self, fewest: int = 1, most: int = 3) -> list[str]:
        """Give different columns."""
        names = self.table.usable
        count = min(len(names), int(self.rng.integers(fewest, most + 1)))
        return [str(x) for x in self.rng.choice(names, count, replace=False)]

    def of(self, *kinds: str) -> str:
        """Give a column that was drawn as one of these kinds, if there is one."""
        kept = [n for n in self.table.usable if self.table.kinds.get(n) in kinds]
        return self.one(kept or self.table.names)


def _state(scene: Scene) -> str:
    name = scene.one(["class", *scene.table.names])
    states = ["1", "2"] if name == "class" else scene.table.states(name)
    return f"{name}={scene.rarely(states, ['other', ''])}"


def _network(scene: Scene) -> str:
    names = [n for n in scene.some(2, 4) if PLAIN.fullmatch(n)]
    first, *rest = names or ["A"]
    items = " ".join([first, *rest])
    second = rest[0] if rest else first
    texts = [
        f"class[{scene.one('23')}] -> {items}",
        f"{first} -> {' '.join(rest)}",
        f"class[2] -> {items}; {first} -> {second}",
        f"G[2] -> H[2]; H -> {items}",
        f"H[2] -> {items}; G[2] -> {items}",
    ]
    return scene.rarely(texts, ["m.json", "no.bif", f"H -> {items}", items])


def _numbers(scene: Scene) -> str:
    what = scene.one(["mean", "weight", "degrees", "scale", "shape"])
    return f"{what}={scene.rarely(['0.5', '1', '3'], ['0', 'x'])}"


def _kind(scene: Scene) -> str:
    usual = {
        "gaussian": ("number", "whole", "amount"),
        "lognormal": ("amount",),
        "poisson": ("count", "whole"),
        "ordinal": ("order", "count"),
        "categorical": ("order", "count", "category"),
    }
    kind = scene.one(list(usual))
    return f"{scene.of(*usual[kind])}={scene.rarely([kind], ['other', 'poisson', 'lognormal'])}"


def _knowledge(scene: Scene) -> str:
    a, b, *_ = [*scene.some(2, 2), "zz"]
    states = len(scene.table.states(a))
    document = {
        "require": [[a, b]],
        "forbid": [[b, a]],
        "tiers": [[a], [b]],
        "max_parents": 2,
        "tied": [[a, b]],
        "fixed": [{"variable": a, "table": [[1 / states] * states] * 2}],
        "zeros": [{"variable": a, "cells": [[0, 0]]}],
    }
    chosen = scene.one(list(document))
    Path("known.json").write_text(json.dumps({chosen: document[chosen]}), encoding="utf-8")
    return "known.json"


def _pair(scene: Scene, sign: str = ">") -> str:
    return sign.join([*scene.some(2, 2), "zz"][:2])


def _covariates(scene: Scene) -> str:
    one, other = [*scene.some(2, 2), "zz"][:2]
    usual = [one, f"{one},{other}", f"~ {one}", f"C({one})", f"~ {one} * {other}"]
    return scene.rarely(usual, [f"~ spline({one})", "~", ""])


# What options may hold, by name; a choice, a switch and a path that is written need no line.
VALUES: dict[str, Callable[[Scene], str]] = {
    "alpha": lambda s: s.rarely(ALPHAS, ["0", "-1", "nan", "x"]),
    "bin": lambda s: s.rarely(
        [f"{s.of('number', 'count')}=2", f"{s.of('number')}=0:1:5"], ["3", "0", "x=0"]
    ),
    "blrt": lambda s: s.rarely(["0", "19"], ["3"]),
    "bootstrap": lambda s: s.rarely(["0", "20", "25"], ["2", "-1"]),
    "classes": lambda s: s.rarely("1235", "0"),
    "clusters": lambda s: s.table.unit or s.name(),
    "coefficient_sd": lambda s: s.rarely(["1", "0.1", "10"], ["0", "inf"]),
    "columns": lambda s: ",".join(s.some(2, 4)),
    "covariance": lambda s: s.rarely(COVARIANCES, ["+".join(s.some(2, 2)), "other"]),
    "covariates": _covariates,
    "dimension": lambda s: s.rarely(["parameters", "rank"], ["other"]),
    "do": _state,
    "edge": lambda s: _pair(s, ":"),
    "exclude": lambda s: s.name(),
    "folds": lambda s: s.rarely("23", "150"),
    "forbid": _pair,
    "free": lambda s: s.name(),
    "given": _state,
    "group": lambda s: s.table.unit or s.of("category"),
    "hidden": lambda s: s.rarely(["H=2", "H=3", "G=2"], ["class=2", "H", f"{s.name()}=2", "H=0"]),
    "imputations": lambda s: s.rarely("123", "0"),
    "kinds": _kind,
    "knowledge": _knowledge,
    "leaf_states": lambda s: s.rarely("234", "01"),
    "leaves": lambda s: s.rarely("135", "0"),
    "level": lambda s: s.rarely(["0.95", "0.5", "0.999"], ["1", "0"]),
    "like": lambda s: "m.json",
    "max_parents": lambda s: s.rarely("123", "0"),
    "missing": lambda s: s.one(["-1", "b", "99", "no"]),
    "missing_rate": lambda s: s.rarely(["0", "0.3", "1"], ["2"]),
    "model": lambda s: "m.json",
    "most": lambda s: s.rarely("12", "0"),
    "network": _network,
    "networks": _network,
    "number_prior": _numbers,
    "of": lambda s: s.one(["class", *s.table.names]),
    "outcomes": lambda s: s.name(),
    "prior": lambda s: s.one(["1,1", "1,2,3", "1", "0,1"]),
    "probes": lambda s: s.one("0148"),
    "reference": _network,
    "replicates": lambda s: s.rarely("139", "0"),
    "require": _pair,
    "resamples": lambda s: s.one(["0", "5", "10"]),
    "restarts": lambda s: s.one("012"),
    "rows": lambda s: s.rarely(["1", "10", "50"], "0"),
    "scores": lambda s: s.rarely(["usual", "all", "bic", "cs,csl", "laplace", "vb,mled"], ["x"]),
    "seed": lambda s: s.one("0127"),
    "separated": lambda s: ",".join(s.some(2, 3)),
    "soft": lambda s: f"{s.name()}={s.one(['a', '1', 'no'])}:0.5,{s.one(['b', '2', 'yes'])}:1",
    "start": _network,
    "states": lambda s: s.rarely(["2", "2", "3", "1", "4"], ["0"]),
    "stop_after": lambda s: s.one("123"),
    "strata": lambda s: s.table.unit or s.name(),
    "sweeps": lambda s: s.one("012"),
    "target": lambda s: s.one(["0.5", "1", "3"]),
    "test": lambda s: s.data,
    "tiers": lambda s: _pair(s, ";"),
    "weights": lambda s: s.table.weight or s.of("count", "whole"),
}
ALPHAS = ("1", "1.01", "0.5", "2", "k2", "bdeu:1", "bdeu:10", "autoclass", "1e-3", "50")
COVARIANCES = ("diagonal", "full", "diagonal-common", "full-common")
