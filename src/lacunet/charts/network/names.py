"""Names in boxes: broken into lines where they are long, and how much room they take.

Nobody knows the font of the reader, so widths are those of a wide one (DejaVu Sans).
"""

import re
import unicodedata

from lacunet.charts.style import TEXT
from lacunet.data.audit import shorten

LINE = 16  # characters that stand on one line in any case
LONGEST = 22  # characters of a line at most
LINES = 3
LEADING = 1.25  # height of a line, by the size of the text
BESIDE, ABOVE = 9.0, 6.0  # pixels between a name and its box

# Widths by the size of the text.
NARROW = dict.fromkeys("iljI.,:;'|!", 0.33) | dict.fromkeys('ftr()[]{}/\\- "*', 0.42)
WIDE = dict.fromkeys("mMwW@%", 0.99)
CAPITAL, OTHER, IDEOGRAPH = 0.72, 0.63, 1.0
# Where a name may be broken: after what joins words, and where a small letter meets a capital.
BREAK = re.compile(r"(?<=[\s_\-./:])|(?<=[a-z0-9])(?=[A-Z])")


def text_width(text: str, size: float = TEXT) -> float:
    """Guess how wide a text is, in pixels.

    >>> text_width("mm") > text_width("ii"), text_width("雪") == TEXT
    (True, True)
    """
    return size * sum(map(_width, text))


def _width(char: str) -> float:
    known = NARROW.get(char) or WIDE.get(char)
    if known:
        return known
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return IDEOGRAPH
    return CAPITAL if char.isupper() else OTHER


def name_lines(name: str) -> tuple[str, ...]:
    """Break a name into lines; what does not fit is cut.

    >>> name_lines("dyspnoea"), name_lines("history_of_smoking"), name_lines("LowerBodyOxygenation")
    (('dyspnoea',), ('history_of_', 'smoking'), ('LowerBody', 'Oxygenation'))
    """
    name = " ".join(name.split()) or " "
    if len(name) <= LINE:
        return (name,)
    lines = [""]
    for piece in BREAK.split(name):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > LINE:
            lines.append("")
        lines[-1] += piece
    if len(lines) > LINES:
        lines[LINES - 1 :] = ["".join(lines[LINES - 1 :])]
    return tuple(shorten(text.strip(), LONGEST) for text in lines)


def box_size(lines: tuple[str, ...]) -> tuple[float, float]:
    """Give width and height of the box around a name."""
    width = max(text_width(text) for text in lines)
    return max(width, 2 * TEXT) + 2 * BESIDE, LEADING * TEXT * len(lines) + 2 * ABOVE
