"""Tables of `lacunet paper` and of the studies, put into a page of the documentation.

A page marks where each table stands, by its name::

    <!-- study: table1 -->
    <!-- end -->

``python -m studies.page_tables FOLDER docs/explanation/paper.md`` writes between the marks
what the folder of a study has; names that the folder does not have are left as they are.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lacunet.paper.reproduce import findings_grid, reality_grid, table1_grid, table2_grid
from lacunet.tabular import Grid
from studies.alternatives.alternative_tables import ascents_grid, hessians_grid
from studies.calibration.calibration_grids import (
    coverage_grid,
    overview_grid,
    reliability_grid,
)
from studies.calibration.other_tables import others_grid


def _cells(rows: list[Any]) -> Grid | None:
    return overview_grid(rows) if rows else None


def _reference(rows: list[Any]) -> Grid | None:
    row = next((r for r in rows if r["cell"] == "reference"), None)
    return reliability_grid(row) if row else None


def _coverage(rows: list[Any]) -> Grid | None:
    return coverage_grid(rows) if rows else None


MARKED = re.compile(r"(<!-- study: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

# By the name of the table: the file of the study, and how its content is shown.
TABLES: Mapping[str, tuple[str, Callable[[Any], Grid | None]]] = {
    "table1": ("table1.json", table1_grid),
    "table2": ("table2.json", table2_grid),
    "reality": ("reality_check.json", lambda x: reality_grid(x["comparisons"])),
    "ascents": ("alternatives.json", lambda x: ascents_grid(x["ascents"])),
    "hessians": ("alternatives.json", lambda x: hessians_grid(x["hessians"])),
    "alternatives": ("alternatives.json", lambda x: findings_grid(x["findings"])),
    "cells": ("calibration.json", lambda x: _cells(x["reliability"])),
    "reference": ("calibration.json", lambda x: _reference(x["reliability"])),
    "coverage": ("calibration.json", lambda x: _coverage(x["coverage"])),
    "others": ("calibration.json", lambda x: others_grid(x["others"]) if x["others"] else None),
    "calibration": ("calibration.json", lambda x: findings_grid(x["findings"])),
}


def filled(text: str, folder: Path) -> str:
    """Give a page with the tables of a study."""

    def put(mark: re.Match[str]) -> str:
        first, name, last = mark.groups()
        file, shown = TABLES[name]
        if not (folder / file).exists():
            return mark.group(0)
        grid = shown(json.loads((folder / file).read_text(encoding="utf-8")))
        if grid is None:
            return mark.group(0)
        return f"{first}\n{grid.markdown()}\n{last}"

    return MARKED.sub(put, text)


if __name__ == "__main__":
    study, *pages = map(Path, sys.argv[1:])
    for page in pages:
        page.write_text(filled(page.read_text(encoding="utf-8"), study), encoding="utf-8")
