"""Parsers of option texts."""

from collections.abc import Sequence

from lacunet.errors import OptionError


def split(values: list[str] | None, names: Sequence[str] = ()) -> list[str]:
    """Split a repeatable option at commas.

    A value among `names` is kept whole.

    >>> split(["a,b", "age, in years"], names=["a", "b", "age, in years"])
    ['a', 'b', 'age, in years']
    """
    return [
        part
        for value in values or []
        for part in ([value] if value in names else map(str.strip, value.split(",")))
    ]


def parse_states(text: str) -> list[int]:
    """Read numbers of states: 4, 1:8, 2:10:2 or 2,4,8.

    >>> parse_states("1:4"), parse_states("2:8:3"), parse_states("5,3")
    ([1, 2, 3, 4], [2, 5, 8], [5, 3])
    """
    states: list[int] = []
    for part in text.split(","):
        try:
            numbers = [int(x) for x in part.split(":")]
        except ValueError:
            raise OptionError(
                f"--classes '{text}' is not understood. Give 4, 1:8, 2:10:2 or 2,4,8."
            ) from None
        first, last = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if len(numbers) > 3 or step < 1:
            raise OptionError(
                f"--classes '{text}' is not understood. Give FIRST:LAST or FIRST:LAST:STEP."
            )
        if first < 1 or last < 1:
            raise OptionError(f"--classes '{text}': there must be at least 1.")
        if last < first:
            raise OptionError(
                f"--classes '{text}' runs backwards, so it is empty. Did you mean {last}:{first}?"
            )
        states.extend(range(first, last + 1, step))
    return list(dict.fromkeys(states))


def parse_hidden(values: list[str] | None) -> dict[str, int | None]:
    """Read --hidden NAME or NAME=STATES.

    >>> parse_hidden(["H", "G=3"])
    {'H': None, 'G': 3}
    """
    sizes: dict[str, int | None] = {}
    for value in values or []:
        name, equals, number = value.rpartition("=")
        if not equals:
            name, number = value, ""
        try:
            size = int(number) if equals else None
        except ValueError:
            raise OptionError(
                f"--hidden '{value}' is not understood. Give NAME, or NAME=STATES as in H=3."
            ) from None
        if size is not None and size < 1:
            raise OptionError(f"--hidden '{value}': there must be at least 1 hidden state.")
        if name in sizes:
            raise OptionError(f"--hidden names '{name}' twice. Name it once.")
        sizes[name] = size
    return sizes


def parse_given(values: list[str] | None, names: Sequence[str], flag: str) -> dict[str, str]:
    """Read comma-separated NAME=STATE; names and states may contain both signs.

    >>> parse_given(["C=yes,D=no", "age=15, or less"], ["C", "D", "age"], "--given")
    {'C': 'yes', 'D': 'no', 'age': '15, or less'}
    """
    given: dict[str, str] = {}
    for value in values or []:
        parts = value.split(",")
        for part in parts if all("=" in part for part in parts) else [value]:
            name, state = _divided(part, "=", names, f"{flag} '{value}'", "NAME=STATE as in C=yes")
            if name in given:
                raise OptionError(f"{flag} names '{name}' twice. Name it once.")
            given[name] = state
    return given


def parse_soft(values: list[str] | None, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read NAME=STATE:WEIGHT,STATE:WEIGHT, once for each variable.

    >>> parse_soft(["C=yes:0.7,no:0.3"], ["C"])
    {'C': {'yes': 0.7, 'no': 0.3}}
    """
    soft: dict[str, dict[str, float]] = {}
    for value in values or []:
        like = "NAME=STATE:WEIGHT,STATE:WEIGHT as in C=yes:0.7,no:0.3"
        name, weights = _divided(value, "=", names, f"--soft '{value}'", like)
        if name in soft:
            raise OptionError(f"--soft names '{name}' twice. Give all its weights at once.")
        soft[name] = {}
        for part in weights.split(","):
            state, _, weight = part.rpartition(":")
            try:
                soft[name][state.strip()] = float(weight)
            except ValueError:
                raise OptionError(f"--soft '{value}' is not understood. Give {like}.") from None
    return soft


def _divided(text: str, sign: str, names: Sequence[str], where: str, like: str) -> tuple[str, str]:
    """Split a text at the sign after a known name, or at the first sign."""
    if sign not in text:
        raise OptionError(f"{where} is not understood. Give {like}.")
    positions = [i for i, letter in enumerate(text) if letter == sign]
    at = next((i for i in positions if text[:i].strip() in names), positions[0])
    return text[:at].strip(), text[at + 1 :].strip()


def parse_names(values: list[str] | None, names: Sequence[str]) -> list[str]:
    """Read names, and drop the state of NAME=STATE.

    >>> parse_names(["A,B=yes"], ["A", "B"])
    ['A', 'B']
    """
    parts = split(values, names)
    return [name if name in names else name.partition("=")[0].strip() for name in parts]
