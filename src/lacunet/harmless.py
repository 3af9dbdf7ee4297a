"""Names as they may be shown: nothing in them moves a cursor or turns the text around it."""

import re
from contextvars import ContextVar

# Control characters but for line ends and tabs, and marks that turn the direction of writing.
_ACTIVE = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# Whether tables of text are written for spreadsheets that anybody may open (`--safe-csv`).
SAFE_CSV: ContextVar[bool] = ContextVar("safe_csv", default=False)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    r"""Put a mark in place of every character that a terminal or a page would act upon.

    >>> harmless("a\x1b[2Jb") == "a\ufffd[2Jb"
    True
    """
    return _ACTIVE.sub("\ufffd", text)


def inert(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would compute, where that was asked for.

    >>> asked = SAFE_CSV.set(True)
    >>> inert("=1+1"), inert("-0.5"), inert("- none")
    ("'=1+1", '-0.5', "'- none")
    >>> SAFE_CSV.reset(asked)
    """
    return f"'{cell}" if SAFE_CSV.get() and _computes(cell) else cell


def _computes(cell: str) -> bool:
    if not cell.startswith(_FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False
