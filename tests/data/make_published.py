"""The three published data sets: one line per pattern of answers, with its count."""

from pathlib import Path

# A pattern is a number whose bits are the answers; the first variable is the most significant bit.
PUBLISHED: dict[str, tuple[str, dict[int, int]]] = {
    # Seven pathologists, 118 slides; 1 = carcinoma seen (Landis & Koch 1977).
    "carcinoma": (
        "A B C D E F G",
        {
            0: 34, 4: 2, 32: 6, 33: 1, 36: 4, 37: 5, 64: 2, 85: 1, 96: 2, 97: 1,
            100: 2, 101: 7, 103: 1, 105: 1, 109: 2, 111: 3, 117: 13, 119: 5, 125: 10, 127: 16,
        },
    ),
    # Four situations of role conflict, 216 people (Stouffer & Toby 1951).
    "values": (
        "A B C D",
        dict(enumerate([20, 2, 9, 2, 6, 1, 4, 1, 38, 7, 24, 6, 25, 6, 23, 42])),
    ),
    # Four signs of a heart attack, 94 patients; 1 = present (Rindskopf & Rindskopf 1986).
    "myocardial": (
        "Q H LDH CPK",
        {15: 24, 7: 5, 11: 4, 3: 3, 13: 3, 5: 5, 9: 2, 1: 7, 2: 1, 4: 7, 0: 33},
    ),
}  # fmt: skip


def write_published(folder: Path) -> None:
    for name, (variables, patterns) in PUBLISHED.items():
        columns = variables.split()
        lines = [",".join([*columns, "count"])]
        for pattern, count in sorted(patterns.items()):
            lines.append(",".join([*f"{pattern:0{len(columns)}b}", str(count)]))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
