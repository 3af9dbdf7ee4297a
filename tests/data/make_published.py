"""The published data sets: one line per pattern of answers, with its count."""

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

# Patterns of answers that have more than two values, one digit each, with their counts.
ANSWERS = {
    # 93 infants at 4 and 14 months: motor activity, fretting and crying, fear (Stern, Arcus, Kagan,
    # Rubin & Snidman 1994).
    "fear": (
        "motor cry fear",
        (
            "111:5 112:4 113:1 122:1 123:2 131:2 133:2 211:15 212:4 213:2 221:2 222:3 223:1 "
            "231:4 232:4 233:2 311:3 312:3 313:4 322:2 323:3 331:1 332:1 333:7 411:2 412:1 "
            "413:2 422:1 423:3 432:3 433:3"
        ),
    ),
    # 1,202 respondents of the General Social Survey of 1982 about surveys (McCutcheon 1987), as the
    # R package poLCA codes them: 1, 2, 3 in the order of the alphabet.
    "gss82": (
        "PURPOSE ACCURACY UNDERSTA COOPERAT",
        (
            "1111:2 1113:6 1121:4 1122:1 1123:23 1211:3 1212:2 1213:9 1221:9 1222:2 1223:43 "
            "2111:25 2112:5 2113:71 2121:35 2122:2 2123:419 2211:16 2212:5 2213:42 2221:25 "
            "2222:4 2223:270 3111:2 3113:1 3121:3 3123:26 3211:12 3212:8 3213:13 3221:23 "
            "3222:6 3223:85"
        ),
    ),
}


def write_published(folder: Path) -> None:
    for name, (variables, patterns) in PUBLISHED.items():
        columns = variables.split()
        lines = [",".join([*columns, "count"])]
        for pattern, count in sorted(patterns.items()):
            lines.append(",".join([*f"{pattern:0{len(columns)}b}", str(count)]))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, (variables, listed) in ANSWERS.items():
        lines = [",".join([*variables.split(), "count"])]
        for pattern, count in (one.split(":") for one in listed.split()):
            lines.append(",".join([*pattern, count]))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
