"""What a person says of covariates: columns, and which of them are categories.

A list of names, a text with commas between them, or a formula: `~ age + C(region)`. C() makes
names of states of numbers, and may say which state the others are held against.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lacunet.errors import OptionError

CovariatesLike: TypeAlias = str | Sequence[str]

CATEGORIES = re.compile(r"C\(\s*(?P<name>.+?)\s*(?:,\s*ref(?:erence)?\s*=\s*(?P<ref>.+?)\s*)?\)")
OUTSIDE = r"(?![^(]*\))"  # of parentheses
ARITHMETIC = re.compile(r"[*:^|()]|\*\*|^-|^0$")


@dataclass(frozen=True)
class Term:
    """One covariate."""

    name: str  # of its column
    categories: bool = False  # whether its values are names of states, even if they are numbers
    reference: str | None = None  # state that the others are held against; None: the first


def understand_terms(given: CovariatesLike, names: Sequence[str]) -> tuple[Term, ...]:
    """Read covariates; a text that is one of `names`, those of the columns, is taken whole.

    >>> understand_terms("~ age + C(region, ref=North)", ["age", "region"])[1].reference
    'North'
    >>> [term.name for term in understand_terms("age, sex", ["age", "sex"])]
    ['age', 'sex']
    """
    texts = _parts(given, names) if isinstance(given, str) else [str(part) for part in given]
    terms = tuple(_term(text.strip(), names) for text in texts if text.strip() != "1")
    twice = next((name for name, n in Counter(t.name for t in terms).items() if n > 1), None)
    if twice is not None:
        raise OptionError(f"--covariates names '{twice}' twice. Name it once.")
    return terms


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Take a text apart, at the signs of a formula or at commas."""
    if text.strip() in names:
        return [text]
    formula = text.strip().startswith("~")
    sign = r"\+" if formula else ","
    parts = re.split(f"{sign}{OUTSIDE}", text.strip().removeprefix("~"))
    if any(not part.strip() for part in parts):
        raise OptionError(
            f"--covariates '{text}' is not understood. Give names with commas between, or a "
            "formula as '~ age + C(region)'; '~ 1' is none at all."
        )
    return parts


def _term(text: str, names: Sequence[str]) -> Term:
    """Read one covariate."""
    if text in names:
        return Term(text)
    if found := CATEGORIES.fullmatch(text):
        reference = found["ref"]
        return Term(found["name"], True, reference and reference.strip("'\""))
    if ARITHMETIC.search(text):
        raise OptionError(
            f"--covariates: '{text}' is more than the name of a column. Names and C(name) are "
            "understood; for products, powers and logarithms put a column into the table."
        )
    return Term(text)  # whoever reads the table says that it has no such column
