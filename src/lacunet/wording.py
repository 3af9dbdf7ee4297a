"""Messages name options as the command line does; who calls a function hears its arguments.

A message is written once, with `--exclude id`. Outside of a command it says `exclude=['id']`, and
of the rows of an estimator `X.drop(columns=['id'])`.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
OF_ESTIMATOR: ContextVar[bool] = ContextVar("of_estimator", default=False)
# What people do to X, where functions have an option.
DONE_TO_X = {"exclude": "X.drop(columns=[{}])", "missing": "X.replace({}, None)"}

# What may stand behind an option as its value; any other word belongs to the sentence.
VALUE = r"'[^']*'|-?[0-9][0-9.:e+-]*[0-9]|[0-9]+"
WORDS = (
    "map|ml|softmax|ais|smc|walk|auto|exact|default|thorough|highest|survey|frequency|learn|drop|"
    "cpu|cuda"
)
LISTED = re.compile(
    r"--(?P<name>exclude|missing)[ =](?!and |or |too |names )(?P<value>'[^']*'|\S*[^\s.,;:)])"
)
PAIRS = re.compile(r"--(?P<name>kinds|bin) (?P<value>(?:'[^']*'|[^\s=]+)=[a-z0-9]+)")
SIZED = re.compile(r"--hidden (?P<name>'[^']*'|[^\s=]+)=(?P<value>[0-9]+)")
VALUED = re.compile(rf"--(?P<name>[a-z][a-z-]*)[ =](?P<value>{VALUE}|(?:{WORDS})\b)")
FLAG = re.compile(
    r"--(?P<name>impute|ignore-case|missing-as-state|edges|evidence|quick|whole-range|plug-in|draw)\b"
)
SUBJECT = re.compile(r"--(?P<name>[a-z][a-z-]*[a-z])(?=:| names | has )")
BARE = re.compile(r"--(?P<name>[a-z][a-z-]*[a-z])")


@contextmanager
def of_estimator() -> Iterator[None]:
    """Speak of X, whose columns and cells an estimator has no options for."""
    before = OF_ESTIMATOR.set(True)
    try:
        yield
    finally:
        OF_ESTIMATOR.reset(before)


def range_words(first: int, last: int) -> str:
    """Say how numbers of classes from one to another are asked for.

    >>> range_words(1, 16)
    'states=range(1, 17)'
    """
    on_line = ON_COMMAND_LINE.get()
    return f"--classes {first}:{last}" if on_line else f"states=range({first}, {last + 1})"


def edge_words(parent: str, child: str) -> str:
    """Say how a direct effect between two answers is asked for.

    >>> edge_words("A", "B")
    "edges=['A:B']"
    """
    edge = f"{parent}:{child}"
    return f"--edge {shlex.quote(edge)}" if ON_COMMAND_LINE.get() else f"edges=[{edge!r}]"


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
    if OF_ESTIMATOR.get():
        return DONE_TO_X["missing"].format(list(labels))
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
    if ON_COMMAND_LINE.get() or "--" not in message:
        return message
    done = DONE_TO_X if OF_ESTIMATOR.get() else {}
    message = LISTED.sub(
        lambda m: done.get(m["name"], m["name"] + "=[{}]").format(repr(_plain(m["value"]))), message
    )
    message = PAIRS.sub(lambda m: f"{m['name']}={_plain(m['value'])!r}", message)
    message = SIZED.sub(lambda m: f"hidden={{{_plain(m['name'])!r}: {m['value']}}}", message)
    message = VALUED.sub(lambda m: f"{_name(m)}={_literal(m['value'])}", message)
    message = FLAG.sub(lambda m: f"{_name(m)}=True", message)
    message = SUBJECT.sub(_name, message)
    return BARE.sub(lambda m: f"{_name(m)}=", message)


def _name(found: re.Match[str]) -> str:
    return found["name"].replace("-", "_")


def _plain(text: str) -> str:
    """Take off the quotes that a shell needs."""
    return "".join(shlex.split(text))


def _literal(text: str) -> str:
    return text if re.fullmatch(r"'[^']*'|-?[0-9][0-9.e+-]*", text) else repr(text)
