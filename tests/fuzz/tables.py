"""Small random tables of all kinds, and the files that hold them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

NAMES = (
    *("A", "B", "C", "D", "x", "n", "age", "class", "count", "Größe", "q 1", "q,2", "a:b", "x=1"),
    *('say "hi"', "C(x)", "-y", "1", "日本", "e+", "[k]", "p(a)", "A.1", "log_p", "it's", "%", "#"),
)
LABELS = (
    *(("a", "b", "c", "d"), ("no", "yes"), ("0", "1"), ("1", "2", "3", "4", "5"), ("ja", "nö")),
    *(("a, b", 'c "d"', "e"), ("true", "false"), ("01", "02", "10"), ("low", "mid", "high")),
    *(("-1", "1"), ("a=b", "c:d"), ("x;y", "z"), ("1.5", "2.5"), ("=1+1", "@"), ("é", "e\u0301")),
)
KINDS = ("category",) * 8 + ("number",) * 3 + ("count", "order", "whole", "constant", "amount")
EXTREME = 0.03  # share of columns whose numbers are very small or very large
ODD = ("id", "empty", "single", "skewed")


@dataclass
class RandomTable:
    """A table of texts and numbers; None is a missing cell."""

    columns: dict[str, list[object]]
    kinds: dict[str, str]  # of each column, as drawn
    weight: str | None = None
    unit: str | None = None  # a column of groups, strata or units

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @property
    def usable(self) -> list[str]:
        """Columns that a model may have, without the weights."""
        odd = [n for n, kind in self.kinds.items() if kind in ODD]
        kept = [n for n in self.columns if n not in (*odd, self.weight, self.unit) and "," not in n]
        return kept or self.names

    def states(self, name: str) -> list[str]:
        """What a column shows, as texts."""
        return [*dict.fromkeys(str(x) for x in self.columns[name] if x is not None)] or ["none"]


def draw_table(rng: np.random.Generator) -> RandomTable:
    """Draw a table: rows of two or three groups, so that there is something to find."""
    rows = int(
        rng.choice([0, 1, 2, 5, 12, 25, 40, 60], p=[0.005, 0.015, 0.02, 0.06, 0.2, 0.3, 0.3, 0.1])
    )
    group = rng.integers(0, int(rng.integers(1, 4)), rows)
    plain = rng.random() < 0.6
    pool = NAMES[:6] if plain else NAMES
    names = [str(x) for x in rng.choice(pool, int(rng.integers(2, 6)), replace=False)]
    kinds = {n: str(rng.choice(ODD if rng.random() < 0.03 else KINDS)) for n in names}
    columns = {n: _column(kind, group, rng) for n, kind in kinds.items()}
    missing = float(rng.choice([0, 0, 0.1, 0.35]))
    for name, cells in columns.items():
        if rng.random() < 0.7:
            columns[name] = [None if rng.random() < missing else x for x in cells]
    table = RandomTable(columns, kinds)
    if rng.random() < 0.25:
        table.weight = "w"
        columns["w"] = _weights(rows, rng)
    if rng.random() < 0.3:
        table.unit = "unit"
        columns["unit"] = [f"u{k}" for k in rng.integers(0, 4, rows)]
    return table


def _column(kind: str, group: np.ndarray, rng: np.random.Generator) -> list[object]:
    m, scale = len(group), float(rng.choice([0.01, 1, 1, 1000]))
    if rng.random() < EXTREME:
        scale = float(rng.choice([1e-300, 1e-160, 1e-12, 1e12, 1e154, 1e300]))
    match kind:
        case "category":
            labels = LABELS[rng.integers(len(LABELS))]
            sure = rng.random(m) < 0.7
            codes = np.where(sure, group, rng.integers(0, len(labels), m)) % len(labels)
            return [labels[k] for k in codes]
        case "number":
            return [scale * round(float(x), 4) for x in 3 * group + rng.normal(size=m)]
        case "amount":
            return [scale * round(float(x), 4) for x in np.exp(group + rng.normal(size=m))]
        case "count":
            return [int(x) for x in rng.poisson(1 + 4 * group)]
        case "order":
            return [int(x) for x in np.clip(1 + group + rng.integers(0, 4, m), 1, 7)]
        case "whole":
            return [int(x) for x in rng.integers(15, 90, m)]
        case "id":
            return [f"r{k}" for k in range(m)]
        case "empty":
            return [None] * m
        case "single":
            return ["a" if k else "b" for k in range(m)]
        case "skewed":
            return [float(x) for x in np.where(rng.random(m) < 0.9, 0.0, 10 * scale)]
    return ["same"] * m  # constant


def _weights(rows: int, rng: np.random.Generator) -> list[object]:
    if rng.random() < 0.5:
        return [int(x) for x in rng.integers(0, 5, rows)]
    return [round(float(x), 3) for x in rng.gamma(2.0, 1.0, rows)]


def write_table(table: RandomTable, folder: Path, rng: np.random.Generator) -> str:
    """Write the table; give the name that a command has for it."""
    form = str(
        rng.choice(["csv", "csv", "csv", "tsv", "semicolon", "parquet", "folder", "pattern"])
    )
    frame = pl.DataFrame(
        [
            pl.Series(n, cells, strict=False) if len(cells) else pl.Series(n, [], pl.String)
            for n, cells in table.columns.items()
        ]
    )
    if form == "parquet":
        frame.write_parquet(folder / "d.parquet")
        return "d.parquet"
    if form in ("folder", "pattern"):
        (folder / "parts").mkdir()
        half = len(frame) // 2
        for name, part in (("one", frame[:half]), ("two", frame[half:])):
            part.write_csv(folder / "parts" / f"{name}.csv")
        return "parts" if form == "folder" else "parts/*.csv"
    ending = ".tsv" if form == "tsv" else ".csv"
    separator = {"tsv": "\t", "semicolon": ";"}.get(form, ",")
    marker = str(rng.choice(["", "", "NA", "?"]))
    frame.write_csv(folder / f"d{ending}", separator=separator, null_value=marker)
    return f"d{ending}"
