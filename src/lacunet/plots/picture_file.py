"""Figures as files; the ending of the name says in which format."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacunet.errors import OptionError
from lacunet.plots.door import load
from lacunet.runtime.files import StrPath, atomic_path, check_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".pdf", ".png")
LACKING = r"Glyph (\d+) .* missing from"  # what matplotlib warns of
DOTS = 200  # for each inch, of a picture that is made of them


def check_picture(target: StrPath) -> None:
    """Say now, before the work, why a figure could not be written."""
    if Path(target).suffix.lower() not in ENDINGS:
        known = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise OptionError(f"'{target}': figures are written to {known} files. Choose one of these.")
    load()
    check_file(target)


def write_picture(ax: Axes, path: StrPath, say: Callable[[str], None]) -> Path:
    """Write the figure that Axes are part of, and let go of it; say which letters a font lacks."""
    figure: Any = ax.figure
    with atomic_path(path) as temporary, warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=LACKING)
        kind = Path(path).suffix.lower().removeprefix(".")
        figure.savefig(temporary, format=kind, dpi=DOTS)
    lacking = set[str]()
    for w in caught:
        if found := re.match(LACKING, str(w.message)):
            lacking.add(found[1])
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if lacking:
        letters = "".join(chr(int(code)) for code in sorted(lacking, key=int))
        say(
            f"{os.fspath(path)}: the font lacks '{letters}', which are drawn as boxes. Set another "
            "font.family in matplotlibrc."
        )
    load().close(figure)
    return Path(path)
