"""How the texts of options are read that only the command line has."""

from collections.abc import Sequence

from lacunet.errors import OptionError


def split(values: list[str] | None, names: Sequence[str] = ()) -> list[str]:
    """Read a repeatable option whose values may also have commas between.

    A value that is one of `names` is taken whole, commas and all.

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
    found: list[int] = []
    for part in text.split(","):
        try:
            numbers = [int(x) for x in part.split(":")]
        except ValueError:
            raise OptionError(
                f"--states '{text}' is not understood. Give 4, 1:8, 2:10:2 or 2,4,8."
            ) from None
        first, last = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if len(numbers) > 3 or step < 1:
            raise OptionError(
                f"--states '{text}' is not understood. Give FIRST:LAST or FIRST:LAST:STEP."
            )
        if first < 1 or last < 1:
            raise OptionError(f"--states '{text}': there must be at least 1 hidden state.")
        if last < first:
            raise OptionError(
                f"--states '{text}' runs backwards, so it is empty. Did you mean {last}:{first}?"
            )
        found.extend(range(first, last + 1, step))
    return list(dict.fromkeys(found))


def parse_hidden(values: list[str] | None) -> dict[str, int | None]:
    """Read --hidden NAME or NAME=STATES.

    >>> parse_hidden(["H", "G=3"])
    {'H': None, 'G': 3}
    """
    found: dict[str, int | None] = {}
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
        if name in found:
            raise OptionError(f"--hidden names '{name}' twice. Name it once.")
        found[name] = size
    return found
