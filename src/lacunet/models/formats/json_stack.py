"""The JSON file of a stack, `lacunet-stack/1`: models of the same columns, and their weights.

::

    {"format": "lacunet-stack/1",
     "fixed": true,  (only if shares are: see `Ensemble`)
     "seen": "…",  (digest of the rows that it was learned from, if known)
     "members": [{"name", "weight", "model": what a model file holds}, ...]}

It is written without any space: a stack of many networks holds many tables. A member with numbers
has the posterior that they are averaged over.
"""

import json
from typing import Any

from lacunet.errors import ModelError
from lacunet.models.ensemble import Ensemble, Member, model_as_shown
from lacunet.models.formats import json_model
from lacunet.models.formats.json_entries import get, get_list
from lacunet.models.formats.json_model import STACK


def write(ensemble: Ensemble) -> str:
    """Give the text of a file."""
    members = [
        {
            "name": m.name,
            "weight": m.weight,
            "model": json_model.document_of(model_as_shown(m.model)),
        }
        for m in ensemble.members
    ]
    fixed = {"fixed": True} if ensemble.fixed else {}
    seen = {"seen": ensemble.seen} if ensemble.seen else {}
    document = {"format": STACK, **fixed, **seen, "members": members}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def is_stack(document: Any) -> bool:
    """Tell a stack from a model."""
    return isinstance(document, dict) and document.get("format") == STACK


def ensemble_of(document: Any) -> Ensemble:
    """Give the stack that a file holds; every mistake is a ModelError that names the place."""
    entries = get_list(document, "members", "the file")
    if not entries:
        raise ModelError('"members" of the file is empty. A stack has one member at least.')
    fixed = document.get("fixed", False)
    if not isinstance(fixed, bool):
        raise ModelError(f'"fixed" of the file is {fixed!r}. It must be true or false.')
    seen = document.get("seen", "")
    if not isinstance(seen, str):
        raise ModelError(f'"seen" of the file is {seen!r}. It must be a text.')
    members = tuple(_member(k, entry) for k, entry in enumerate(entries, start=1))
    return Ensemble(members, fixed, seen)


def _member(number: int, entry: Any) -> Member:
    where = f"member {number}"
    name, weight = get(entry, "name", where), get(entry, "weight", where)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ModelError(f'{where}: "weight" is {weight!r}. It must be a number.')
    try:
        model = json_model.model_of(get(entry, "model", where))
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from error.__cause__
    return Member(str(name), float(weight), model.predictive)
