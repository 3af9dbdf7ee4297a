"""What stands in a JSON file, checked: every mistake is a ModelError that names the place."""

import math
from typing import Any

from lacunet.errors import ModelError, OptionError
from lacunet.runtime.states import Bins


def get(entry: Any, key: str, where: str) -> Any:
    """Give what an entry has to have."""
    if not isinstance(entry, dict) or key not in entry:
        raise ModelError(f'{where} has no "{key}".')
    return entry[key]


def get_list(entry: Any, key: str, where: str) -> list[Any]:
    """Give a list that an entry has to have."""
    value = get(entry, key, where)
    if not isinstance(value, list):
        raise ModelError(f'"{key}" of {where} must be a list.')
    return value


def read_bins(entry: Any, name: str) -> Bins | None:
    """Read the edges that numbers are cut at, and what stands for each bin."""
    if "bins" not in entry:
        return None
    where = f"\"bins\" of variable '{name}'"
    told = [get_list(entry["bins"], key, where) for key in ("edges", "typical")]
    if not all(map(all_numbers, told)):
        raise ModelError(f"{where}: edges and typical must be lists of numbers.")
    try:
        return Bins(*(tuple(map(float, numbers)) for numbers in told))
    except (OptionError, OverflowError) as error:
        raise ModelError(f"{where}: {error}") from None


def is_state(value: Any) -> bool:
    """Whether a value can be a state."""
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) < math.inf)


def all_numbers(value: Any) -> bool:
    """Whether nested lists hold nothing but numbers."""
    if isinstance(value, list):
        return all(map(all_numbers, value))
    return isinstance(value, int | float) and not isinstance(value, bool)
