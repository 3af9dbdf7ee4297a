"""Numbers as a table shows them; each remembers all its digits."""

import math
from functools import partial
from typing import Self

SHOWN = 0.001  # the least probability that is written out
WIDE = 0.005  # standard error of a probability from which on two digits say all


class Shown(str):
    """A text that stands for a number: tables show the text, CSV files get all the digits.

    >>> Shown("<0.001", 1e-9).value
    1e-09
    """

    value: float

    __slots__ = ("value",)

    def __new__(cls, text: str, value: float) -> Self:
        """Take the text to show, and what it stands for."""
        shown = super().__new__(cls, text)
        shown.value = float(value)
        return shown

    def __getnewargs__(self) -> tuple[str, float]:  # type: ignore[override]
        return str(self), self.value

    def digits(self) -> str:
        """Write the number with all its digits; nothing, where it does not exist.

        >>> number(1 / 3).digits(), number(math.nan).digits(), number(math.inf).digits()
        ('0.3333333333333333', '', 'inf')
        """
        return "" if math.isnan(self.value) else repr(self.value)


FULL = 1e15  # from which on digits behind the point say nothing


def number(x: float, digits: int = 2) -> Shown:
    """Write a number for a table; a value that does not exist is a dash, as it is null in JSON.

    >>> number(-1234.5678), number(math.nan), number(-math.inf), number(-1e100)
    ('-1234.57', '–', '–', '-1e+100')
    """
    if not math.isfinite(x):
        return Shown("–", x)
    return Shown(f"{x:.{digits}f}" if abs(x) < FULL else f"{x:.6g}", x)


def measured(x: float) -> Shown:
    """Write a number of any size to four digits; one that does not exist is a dash.

    >>> measured(1234.5678), measured(0.012344), measured(math.nan)
    ('1235', '0.01234', '–')
    """
    return Shown(f"{x:.4g}" if math.isfinite(x) else "–", x)


def probability(p: float, *, exact: bool = True) -> Shown:
    """Write a probability; one that is not quite 0 or 1 never looks as if it were.

    Where it is not `exact`, even 0 and 1 are taken for rounded values between them.

    >>> probability(1.0), probability(0.99999), probability(0.25), probability(1e-9)
    ('1', '>0.999', '0.250', '<0.001')
    >>> probability(1.0, exact=False)
    '>0.999'
    """
    if math.isnan(p):
        return Shown("–", p)
    if exact and p in (0.0, 1.0):
        return Shown(f"{p:.0f}", p)
    return Shown("<0.001" if p < SHOWN else ">0.999" if p > 1 - SHOWN else f"{p:.3f}", p)


def chance(p: float, stderr: float | None, *, exact: bool = False) -> Shown:
    """Write a probability with its standard error, if that is known and not too small to show.

    >>> chance(0.6234, 0.0171), chance(0.25, 0.0012), chance(0.25, None), chance(0.99999, 1e-6)
    ('0.62 ± 0.02', '0.250 ± 0.002', '0.250', '>0.999')
    """
    plain = probability(p, exact=exact)
    if not stderr or not SHOWN <= p <= 1 - SHOWN:
        return plain
    digits = 2 if stderr >= WIDE else 3
    up = math.ceil(stderr * 10**digits - 1e-9) / 10**digits  # an error is never rounded down
    return Shown(f"{p:.{digits}f} ± {up:.{digits}f}", p)


share = partial(probability, exact=False)  # of rows, or of probability: rounded, never certain
