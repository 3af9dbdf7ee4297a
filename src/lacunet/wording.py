"""Translate options in messages from command-line to Python notation.

A message is written once, with `--exclude id`. Outside of a command this becomes `exclude=['id']`.
In an estimator it becomes an operation such as `X.drop(columns=['id'])`, or a parameter.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite

ARRAY = "numpy."  # begins expressions for NumPy arrays, which are function calls


@dataclass(frozen=True)
class EstimatorWords:
    """Names of options in messages of an estimator."""

    parameters: frozenset[str]  # of the estimator
    function: str  # of the package, with all options
    left_out: str  # X without a column; {}: its name, or its index in an array
    made_missing: str  # X with a value made missing; {}: the value


RENAMED = {"starts": "n_init", "seed": "random_state", "threads": "n_jobs", "states": "n_classes"}
RENAMED |= {"classes": "n_classes", "weights": "sample_weight"}
ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
OF_ESTIMATOR: ContextVar[EstimatorWords | None] = ContextVar("of_estimator", default=None)

# Words that may be the value of an option; any other word belongs to the sentence.
WORDS = (
    "map|ml|softmax|ais|smc|walk|auto|exact|default|thorough|highest|survey|frequency|learn|drop|"
    "cpu|cuda|full"
)
FLAGS = (
    "impute|ignore-case|missing-as-state|edges|evidence|quick|whole-range|plug-in|draw"  # no value
)
OPTION = re.compile(
    r"--(?:"
    r"(?P<listed>exclude|missing)[ =](?!and |or |too |names )(?P<item>'[^']*'|\S*[^\s.,;:)])|"
    r"(?P<paired>kinds|bin) (?P<pair>(?:'[^']*'|[^\s=]+)=[a-z0-9]+)|"
    r"hidden (?P<hidden>'[^']*'|[^\s=]+)=(?P<size>[0-9]+)|"
    r"(?P<valued>[a-z][a-z-]*)[ =]"
    rf"(?P<value>'[^']*'|-?[0-9][0-9.:e+-]*[0-9]|[0-9]+|(?:{WORDS})\b)|"
    rf"(?P<flag>{FLAGS})\b|"
    r"(?P<subject>[a-z][a-z-]*[a-z])(?=:| names | has )|"
    r"(?P<bare>[a-z][a-z-]*[a-z]))"
)


@contextmanager
def of_estimator(words: EstimatorWords) -> Iterator[None]:
    """Translate messages for an estimator inside the block."""
    before = OF_ESTIMATOR.set(words)
    try:
        yield
    finally:
        OF_ESTIMATOR.reset(before)


def range_words(first: int, last: int) -> str:
    """Write the option for a range of numbers of classes.

    >>> range_words(1, 16)
    'states=range(1, 17)'
    """
    if ON_COMMAND_LINE.get():
        return f"--classes {first}:{last}"
    return _argument("states", f"range({first}, {last + 1})")


def edge_words(parent: str, child: str) -> str:
    """Write the option for a direct effect between two items.

    >>> edge_words("A", "B")
    "edges=['A:B']"
    """
    edge = f"{parent}:{child}"
    on_line = ON_COMMAND_LINE.get()
    return f"--edge {shlex.quote(edge)}" if on_line else _argument("edges", f"[{edge!r}]")


def clusters_words(names: Sequence[str]) -> str:
    """Write the option for several columns that together identify sampling units.

    >>> clusters_words(["stratum", "psu"])
    "clusters=['stratum', 'psu']"
    """
    if ON_COMMAND_LINE.get():
        return f"--clusters {shlex.quote(','.join(names))}"
    return f"clusters={list(names)}"


def residual_words() -> str:
    """Write the option or call that adds direct effects.

    >>> residual_words()
    'add_direct_effects()'
    """
    return "--residuals add" if ON_COMMAND_LINE.get() else "add_direct_effects()"


def missing_words(labels: Sequence[str]) -> str:
    """Write the option that declares values missing.

    >>> missing_words(["-99", "refused"])
    "missing=['-99', 'refused']"
    """
    if (words := OF_ESTIMATOR.get()) is not None:
        values = ", ".join(map(_typed, labels))
        return words.made_missing.format(f"[{values}]" if len(labels) > 1 else values)
    if not ON_COMMAND_LINE.get():
        return f"missing={list(labels)}"
    # Without `=` a negative number would be parsed as an option.
    apart = any("," in text for text in labels)
    each = labels if apart else [",".join(labels)]
    return " ".join(f"--missing={shlex.quote(text)}" for text in each)


def worded(message: str) -> str:
    """Translate the options in a message, unless the command line shows it.

    >>> worded("Exclude it with --exclude id, or raise --starts 256.")
    "Exclude it with exclude=['id'], or raise starts=256."
    >>> worded("Leave out --columns. Read it with --kinds age=gaussian or --missing-as-state.")
    "Leave out columns=. Read it with kinds='age=gaussian' or missing_as_state=True."
    >>> worded("Give --hidden class=3.")
    "Give hidden={'class': 3}."
    """
    return message if ON_COMMAND_LINE.get() else OPTION.sub(_as_argument, message)


def _as_argument(match: re.Match[str]) -> str:
    """Write an option as an argument."""
    kind = match.lastgroup or ""
    if kind == "item":
        return _listed(match["listed"], _plain(match["item"]))
    if kind == "pair":
        return _argument(match["paired"], repr(_plain(match["pair"])))
    if kind == "size":
        return _argument("hidden", f"{{{_plain(match['hidden'])!r}: {match['size']}}}")
    if kind == "value":
        value = match["value"]
        plain = value[0] == "'" or re.fullmatch(r"-?[0-9][0-9.e+-]*", value)
        return _argument(match["valued"].replace("-", "_"), value if plain else repr(value))
    name = match[kind].replace("-", "_")
    if kind == "subject":
        return _parameter_name(name)
    return _argument(name, "True" if kind == "flag" else "")


def _listed(name: str, value: str) -> str:
    """Write `exclude` or `missing`: an argument of functions, an operation on X in estimators."""
    words = OF_ESTIMATOR.get()
    if words is None:
        return f"{name}=[{value!r}]"
    if name == "missing":
        return words.made_missing.format(_typed(value))
    return words.left_out.format(value[1:] if words.left_out.startswith(ARRAY) else repr(value))


def _typed(text: str) -> str:
    """Write a value as a Python literal: a text in quotes, a number without."""
    try:
        number = float(text)
    except ValueError:
        return repr(text)
    return text if isfinite(number) else f"float({text!r})"


def _argument(name: str, value: str) -> str:
    """Write an argument; one that the estimator lacks belongs to a function of the package."""
    words, called = OF_ESTIMATOR.get(), _parameter_name(name)
    if words is not None and not value and name in ("exclude", "missing"):
        return (words.left_out if name == "exclude" else words.made_missing).format("...")
    if words is None or called in words.parameters:
        return f"{called}={value}"
    return f"lacunet.{words.function}(..., {name}={value})" if value else f"{name}="


def _parameter_name(name: str) -> str:
    """Translate an option to a parameter of the estimator, if it has one."""
    words, other = OF_ESTIMATOR.get(), RENAMED.get(name, name)
    return name if words is None or other not in words.parameters else other


def _plain(text: str) -> str:
    """Take off the quotes that a shell needs."""
    return "".join(shlex.split(text))
