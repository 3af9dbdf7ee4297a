"""Numbers and names as the page writes them."""

import math
from collections.abc import Sequence

from lacunet.models.network import Variable
from lacunet.tabular import number

SMALL = 0.001  # shares that are not quite 0 or 1 never look as if they were


def nats(x: float) -> str:
    """Write a log evidence, with a real minus sign; a dash where it does not exist.

    >>> nats(-355.123), nats(math.nan)
    ('−355.12', '–')
    """
    return number(x).replace("-", "−")


def percent(p: float) -> str:
    """Write a share.

    >>> percent(0.1234), percent(0.0), percent(0.00001), percent(0.99999)
    ('12.3%', '0%', '<0.1%', '>99.9%')
    """
    if math.isnan(p):
        return "–"
    if p in (0.0, 1.0):
        return f"{p:.0%}"
    return f"<{SMALL:.1%}" if p < SMALL else f">{1 - SMALL:.1%}" if p > 1 - SMALL else f"{p:.1%}"


def count(n: int, noun: str) -> str:
    """Write a number of things.

    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def kind(v: Variable) -> str:
    """Write how many states a variable has, or which kind of number it is."""
    return str(len(v.states)) if v.family.tabular else v.family.by_itself.name


def listed(names: Sequence[str], most: int = 8) -> str:
    """Write names with commas and 'and'; of very many, some.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def hundredths(p: float) -> str:
    """Write a share for the style sheet, which needs no more digits than can be seen."""
    return f"{p:.3f}".rstrip("0").rstrip(".")
