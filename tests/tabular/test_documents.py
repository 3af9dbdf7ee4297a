"""Documents of results: their keys are attributes that exist."""

import dataclasses
import importlib
import json
import math
import pkgutil

import pytest

import lacunet
from lacunet.tabular import Documented, described, to_json


def documented(kind=Documented):
    for module in pkgutil.walk_packages(lacunet.__path__, "lacunet."):
        if not module.name.startswith(("lacunet.plots", "lacunet.__main__")):
            importlib.import_module(module.name)
    result, todo = [], [kind]
    while todo:
        todo += (more := todo.pop().__subclasses__())
        result += [one for one in more if one.KEYS]
    return result


@pytest.mark.parametrize("kind", documented(), ids=lambda kind: kind.__name__)
def test_every_key_is_an_attribute(kind):
    fields = {field.name for field in dataclasses.fields(kind)}
    for key in kind.KEYS.split():
        name, _, path = key.partition("=")
        attribute = (path or name.rstrip("?")).split(".")[0]
        assert "?" not in path
        assert attribute in fields or hasattr(kind, attribute), key


def test_absent_values_are_omitted_for_some_keys():
    class Result:
        one, other, none = 0.0, (), None

    assert described(Result(), "one? other? none? new?=none") == {"one": 0.0}
    assert described(Result(), "other none new=one", more=[1]) == {
        "other": (),
        "none": None,
        "new": 0.0,
        "more": [1],
    }


def test_json_is_strict():
    written = json.loads(to_json({"a": math.nan, 1: (math.inf, 2.5)}))
    assert written == {"format": "lacunet-document/2", "a": None, "1": [None, 2.5]}
