"""JSON documents of results: some of their attributes, under their names or others."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar

from lacunet.flags import Flag


class Documented:
    """A value with a JSON document."""

    KEYS: ClassVar[str] = ""  # of its document, as `described` takes them

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: Python values by name."""
        return described(self, self.KEYS)


FORMAT = "lacunet-document/2"  # rises with each renamed key


def to_json(document: Mapping[str, Any]) -> str:
    """Write strict JSON with its format; NaN and infinities become null."""
    whole = {"format": FORMAT, **document}
    return json.dumps(_strict(whole), indent=2, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    return value


def described(result: object, keys: str, **more: Any) -> dict[str, Any]:
    """Return attributes of a result under their names, and further values.

    "name=attribute" renames an attribute; "name?" or "name?=attribute" leaves it out if it is None
    or empty. Results become their documents, flags sentences, enumeration members their values, and
    arrays lists.

    >>> described(2.5j, "imag other=real", more=(1, 2))
    {'imag': 2.5, 'other': 0.0, 'more': (1, 2)}
    """
    document = {}
    for key in keys.split():
        name, _, path = key.partition("=")
        shown = name.rstrip("?")
        value = attrgetter(path or shown)(result)
        if name == shown or not (value is None or value in ((), [], {}, "")):
            document[shown] = plain(value)
    return {**document, **{name: plain(value) for name, value in more.items()}}


def plain(value: Any) -> Any:
    """Turn a value, and all that it holds, into Python values."""
    if isinstance(value, Documented):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Flag):
        return str(value)
    if hasattr(value, "dtype"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return tuple(map(plain, value)) if isinstance(value, tuple) else value
