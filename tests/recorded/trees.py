"""Results as trees of JSON, their leaves, and how two leaves differ."""

import csv
import dataclasses
import enum
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

# What differs from run to run, or from version to version, without being a result.
DROPPED = {"seconds", "time", "version", "lacunet_version", "command", "created", "seed", "threads"}
CLOSE = 1e-9  # of the larger number, or absolute below 1
SAMPLED_SHARE, SAMPLED = 0.05, 0.5  # allowed of numbers that were sampled: a share, or absolute


def as_tree(value: Any) -> Any:
    """Give any result as dicts, lists, texts, numbers and None."""
    if isinstance(value, enum.Enum):
        return as_tree(value.value)
    if isinstance(value, np.ndarray):
        return as_tree(value.tolist())
    if isinstance(value, np.generic):
        return as_tree(value.item())
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(k): as_tree(x) for k, x in value.items()}
    if isinstance(value, list | tuple | range | set | frozenset):
        kept = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [as_tree(x) for x in kept]
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # pandas, or Polars
        frame = value if hasattr(value, "to_pandas") else None
        return as_tree(
            frame.to_dict(as_series=False) if frame is not None else value.to_dict("list")
        )
    if dataclasses.is_dataclass(value):
        return {f.name: as_tree(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return str(value)


def read_csv(path: Path) -> dict[str, list[object]]:
    """Give the columns of a file of commas, with numbers as numbers."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    return {f"{i}": [_number(x) for x in row] for i, row in enumerate(rows)}


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give each leaf of a tree with its path."""
    if isinstance(tree, dict):
        for key, branch in tree.items():
            if key not in DROPPED:
                yield from leaves(branch, f"{path}/{key}")
    elif isinstance(tree, list):
        for i, branch in enumerate(tree):
            yield from leaves(branch, f"{path}/{i}")
    else:
        yield path, tree


def pruned(tree: Any) -> Any:
    """Give a tree without what is never compared."""
    if isinstance(tree, dict):
        return {k: pruned(x) for k, x in tree.items() if k not in DROPPED}
    return [pruned(x) for x in tree] if isinstance(tree, list) else tree


def same(was: Any, is_now: Any, sampled: bool) -> bool:
    """Whether two leaves are the same result."""
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (was, is_now))
    if not numbers:
        return bool(was == is_now) or (sampled and isinstance(was, str))
    larger = max(abs(was), abs(is_now))
    if sampled:
        return bool(abs(was - is_now) <= max(SAMPLED, SAMPLED_SHARE * larger))
    return bool(abs(was - is_now) <= CLOSE * max(1.0, larger))
