"""What is known of a graph, as texts: a JSON file, and the options of the command line.

::

    {"require": [["age", "income"], ...], "forbid": [["income", "sex"], ...],
     "tiers": [["age", "sex"], ["income"]], "start": [["sex", "income"], ...], "max_parents": 4,
     "fixed": [...], "tied": [["first", "second"], ...], "zeros": [...]}

`models/known_tables.py` says how tables are told.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from lacunet.errors import OptionError, did_you_mean
from lacunet.runtime.files import StrPath
from lacunet.structure.knowledge import Edge, Knowledge

FIELDS = [field.name for field in fields(Knowledge)]


def read_knowledge(path: StrPath) -> Knowledge:
    """Read what is known of a graph; every mistake names its place."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deep
        raise OptionError(f"{path} is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise OptionError(f"{path}: give an object with some of {', '.join(FIELDS)}.")
    for name, value in document.items():
        _check_entry(f"{path}", name, value)
    try:
        return Knowledge(**document)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def _check_entry(where: str, name: str, value: Any) -> None:
    if name not in FIELDS:
        hint = did_you_mean(name, FIELDS) or f" There are {', '.join(FIELDS)}."
        raise OptionError(f"{where}: '{name}' is not known.{hint}")
    if name == "max_parents":
        if not (value is None or type(value) is int):
            raise OptionError(f"{where}: max_parents {value!r} is no whole number.")
    elif name in ("fixed", "zeros"):
        if not (isinstance(value, list) and all(isinstance(entry, dict) for entry in value)):
            raise OptionError(f"{where}: '{name}' must be a list of objects.")
    elif not (isinstance(value, list) and all(_is_names(entry) for entry in value)):
        raise OptionError(f"{where}: '{name}' must be a list of lists of names.")


def _is_names(entry: Any) -> bool:
    return isinstance(entry, list) and all(isinstance(name, str) for name in entry)


def parse_edges(option: str, texts: Sequence[str]) -> list[Edge]:
    """Read edges that are given as PARENT>CHILD.

    >>> parse_edges("--require", ["age>income", "sex -> income"])
    [('age', 'income'), ('sex', 'income')]
    """
    found = []
    for text in texts:
        u, arrow, v = (part.strip() for part in text.replace("->", ">", 1).partition(">"))
        if not (u and arrow and v):
            raise OptionError(f"{option} '{text}' is no edge. Give PARENT>CHILD.")
        found.append((u, v))
    return found


def parse_tiers(text: str) -> list[list[str]]:
    """Read tiers with semicolons between, and names with commas between.

    >>> parse_tiers("age, sex; income")
    [['age', 'sex'], ['income']]
    """
    tiers = [[name.strip() for name in tier.split(",")] for tier in text.split(";")]
    if not all(name for tier in tiers for name in tier):
        raise OptionError(f"--tiers '{text}' is not understood. Give for example 'age,sex;income'.")
    return tiers
