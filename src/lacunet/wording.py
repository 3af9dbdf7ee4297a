"""Messages name options as the command line does; callers of a function read its arguments.

A message is written once, with `--exclude id`. Outside of a command it says `exclude=['id']`, and
in a method of an estimator what its X allows, as `X.drop(columns=['id'])`, or its own parameters.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite

ARRAY = "numpy."  # what is done to an array is done by a function


@dataclass(frozen=True)
class EstimatorWords:
    """How options are called in messages of an estimator."""

    parameters: frozenset[str]  # that it has
    function: str  # of the package, which has all options
    left_out: str  # X without a column, {}: its name, or of an array (x0, x1, …) its place
    made_missing: str  # X with missing cells in the place of a value, {}


RENAMED = {"starts": "n_init", "seed": "random_state", "threads": "n_jobs", "states": "n_classes"}
RENAMED |= {"classes": "n_classes", "weights": "sample_weight"}
ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
OF_ESTIMATOR: ContextVar[EstimatorWords | None] = ContextVar("of_estimator", default=None)

# What may stand behind an option as its value; any other word belongs to the sentence.
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
    """Use the words of an estimator."""
    before = OF_ESTIMATOR.set(words)
    try:
        yield
    finally:
        OF_ESTIMATOR.reset(before)


def range_words(first: int, last: int) -> str:
    """Say how numbers of classes from one to another are asked for.

    >>> range_words(1, 16)
    'states=range(1, 17)'
    """
    if ON_COMMAND_LINE.get():
        return f"--classes {first}:{last}"
    return _argument("states", f"range({first}, {last + 1})")


def edge_words(parent: str, child: str) -> str:
    """Say how a direct effect between two answers is asked for.

    >>> edge_words("A", "B")
    "edges=['A:B']"
    """
    edge = f"{parent}:{child}"
    on_line = ON_COMMAND_LINE.get()
    return f"--edge {shlex.quote(edge)}" if on_line else _argument("edges", f"[{edge!r}]")


def clusters_words(names: Sequence[str]) -> str:
    """Say how several columns tell sampling units together.

    >>> clusters_words(["stratum", "psu"])
    "clusters=['stratum', 'psu']"
    """
    if ON_COMMAND_LINE.get():
        return f"--clusters {shlex.quote(','.join(names))}"
    return f"clusters={list(names)}"


def residual_words() -> str:
    """Say how direct effects are searched for.

    >>> residual_words()
    'add_direct_effects()'
    """
    return "--residuals add" if ON_COMMAND_LINE.get() else "add_direct_effects()"


def missing_words(labels: Sequence[str]) -> str:
    """Say how values are declared to stand for a hole.

    >>> missing_words(["-99", "refused"])
    "missing=['-99', 'refused']"
    """
    if (own := OF_ESTIMATOR.get()) is not None:
        values = ", ".join(map(_typed, labels))
        return own.made_missing.format(f"[{values}]" if len(labels) > 1 else values)
    if not ON_COMMAND_LINE.get():
        return f"missing={list(labels)}"
    # A negative number would be taken for an option, were it apart.
    apart = any("," in text for text in labels)
    each = labels if apart else [",".join(labels)]
    return " ".join(f"--missing={shlex.quote(text)}" for text in each)


def worded(message: str) -> str:
    """Give a message in the words of whoever will read it.

    >>> worded("Exclude it with --exclude id, or raise --starts 256.")
    "Exclude it with exclude=['id'], or raise starts=256."
    >>> worded("Leave out --columns. Read it with --kinds age=gaussian or --missing-as-state.")
    "Leave out columns=. Read it with kinds='age=gaussian' or missing_as_state=True."
    >>> worded("Give --hidden class=3.")
    "Give hidden={'class': 3}."
    """
    return message if ON_COMMAND_LINE.get() else OPTION.sub(_as_argument, message)


def _as_argument(found: re.Match[str]) -> str:
    """Write an option as an argument."""
    kind = found.lastgroup or ""
    if kind == "item":
        return _listed(found["listed"], _plain(found["item"]))
    if kind == "pair":
        return _argument(found["paired"], repr(_plain(found["pair"])))
    if kind == "size":
        return _argument("hidden", f"{{{_plain(found['hidden'])!r}: {found['size']}}}")
    if kind == "value":
        value = found["value"]
        plain = value[0] == "'" or re.fullmatch(r"-?[0-9][0-9.e+-]*", value)
        return _argument(found["valued"].replace("-", "_"), value if plain else repr(value))
    name = found[kind].replace("-", "_")
    if kind == "subject":
        return _own_name(name)
    return _argument(name, "True" if kind == "flag" else "")


def _listed(name: str, value: str) -> str:
    """Name columns or values to do without: an option of functions, to be done to X itself."""
    own = OF_ESTIMATOR.get()
    if own is None:
        return f"{name}=[{value!r}]"
    if name == "missing":
        return own.made_missing.format(_typed(value))
    return own.left_out.format(value[1:] if own.left_out.startswith(ARRAY) else repr(value))


def _typed(text: str) -> str:
    """Write a value as Python does: a text in quotes, a number without."""
    try:
        number = float(text)
    except ValueError:
        return repr(text)
    return text if isfinite(number) else f"float({text!r})"


def _argument(name: str, value: str) -> str:
    """Name an argument; one that an estimator lacks is one of a function of the package."""
    own, called = OF_ESTIMATOR.get(), _own_name(name)
    if own is not None and not value and name in ("exclude", "missing"):
        return (own.left_out if name == "exclude" else own.made_missing).format("...")
    if own is None or called in own.parameters:
        return f"{called}={value}"
    return f"lacunet.{own.function}(..., {name}={value})" if value else f"{name}="


def _own_name(name: str) -> str:
    """Give the name that an argument has here."""
    own, other = OF_ESTIMATOR.get(), RENAMED.get(name, name)
    return name if own is None or other not in own.parameters else other


def _plain(text: str) -> str:
    """Take off the quotes that a shell needs."""
    return "".join(shlex.split(text))
