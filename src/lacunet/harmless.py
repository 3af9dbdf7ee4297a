"""Names as they may be shown: nothing in them moves a cursor or turns the text around it."""

import csv
import io
import re

# Control characters but for line ends and tabs, and marks that turn the direction of writing.
_ACTIVE = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    r"""Put a mark in place of every character that a terminal or a page would act upon.

    >>> harmless("a\x1b[2Jb") == "a\ufffd[2Jb"
    True
    """
    return _ACTIVE.sub("\ufffd", text)


def without_formulas(table: str) -> str:
    r"""Put an apostrophe before every cell of a CSV text that a spreadsheet would compute.

    >>> without_formulas("name,value\n=1+1,-0.5\n")
    "name,value\n'=1+1,-0.5\n"
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in csv.reader(io.StringIO(table, newline="")):
        writer.writerow([f"'{cell}" if _computes(cell) else cell for cell in row])
    return out.getvalue()


def _computes(cell: str) -> bool:
    if not cell.startswith(_FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False
