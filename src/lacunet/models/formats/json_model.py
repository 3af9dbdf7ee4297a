"""The JSON model file, `lacunet-model/1`: the one format that also holds the prior.

::

    {"format": "lacunet-model/1",
     "variables": [{"name", "states": [...], "hidden": true|false, "title": what it is about,
                    "bins": {"edges": [...], "typical": [...]}}, ...],
     "families": [{"child", "parents": [...], "table": nested by parents, then child state,
                   "alpha": same shape or one number, "posterior": same shape,
                   "fixed": true, "tied_to": another child, "zeros": [{"state", "given"}]}, ...]}

States that are bins of numbers have the edges between them, and a number that stands for each.
A fixed table is never learned, and has no prior. A tied one is that of another child. A zero is a
state that is impossible, given the states of some parents by name ("given": {"sex": "male"}).
A fitted model has "posterior", the exponents of its parameters given the data: rows are asked of
their means; "table" is the estimate. Numbers are written with all their digits, so that a file
reads back exactly. `lacunet-model/2` also has variables that are numbers (`json_numbers`),
`lacunet-model/3` classes that covariates predict (`json_predictors`).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.likelihoods import Likelihood as Kind
from lacunet.models.formats import assembly, json_known, json_numbers, json_predictors
from lacunet.models.formats.assembly import Family
from lacunet.models.formats.json_entries import all_numbers, get, get_list, is_state, read_bins
from lacunet.models.network import Model, Network, Variable
from lacunet.models.predictors import Predictors
from lacunet.runtime.arrays import BoolArray, FloatArray

FORMAT = "lacunet-model/1"
WITH_NUMBERS = "lacunet-model/2"
WITH_PREDICTORS = "lacunet-model/3"
FORMATS = (FORMAT, WITH_NUMBERS, WITH_PREDICTORS)
STACK = "lacunet-stack/1"  # of `json_stack`


def write(model: Model) -> str:
    """Give the text of a model file."""
    return json.dumps(document_of(model), indent=1, ensure_ascii=False) + "\n"


def document_of(model: Model) -> dict[str, Any]:
    """Give what a model file holds."""
    variables = [_entry(v) for v in model.network.variables]
    layout = model.network.layout
    known = model.averaged if model.posterior is None else model.posterior
    whole, learned = layout.pooled(model.alpha), layout.learned
    families = [
        {
            "child": child.name,
            "parents": [p.name for p in parents],
            "table": table.tolist(),
            **_alpha_entry(layout.table(whole, i), layout.table(learned, i)),
            **({} if known is None else {"posterior": layout.table(known, i).tolist()}),
            **json_known.write(child, parents),
        }
        for i, ((*parents, child), table) in enumerate(assembly.tables(model))
    ]
    file_format = FORMAT if layout.tabular else WITH_NUMBERS
    told = {"format": file_format, "variables": variables, "families": families}
    if model.predictors is None:
        return told
    return {**told, "format": WITH_PREDICTORS, **json_predictors.write(model.predictors)}


def _entry(v: Variable) -> dict[str, Any]:
    about = {"title": v.title} if v.title else {}
    if not v.family.tabular:
        return {**json_numbers.write(v), **about}
    told = {"name": v.name, "states": list(v.states), "hidden": v.hidden, **about}
    return told if v.bins is None else {**told, "bins": asdict(v.bins)}


def _alpha_entry(alpha: FloatArray, learned: BoolArray) -> dict[str, Any]:
    """The exponents of what is learned: one number, if they are all the same."""
    own = alpha[learned]
    if not len(own):
        return {}
    return {"alpha": float(own[0]) if np.all(own == own[0]) else alpha.tolist()}


def read(text: str) -> Model:
    """Read the text of a model file; every mistake is a ModelError that names the place."""
    return model_of(read_json(text))


def read_json(text: str) -> Any:
    """Read JSON; where it is none, say what may be the matter."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelError(
            f"line {error.lineno}: this is not valid JSON ({error.msg}). "
            "The file may be cut off, or be another format."
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a number with no end
        raise ModelError(
            f"this is not a model file: it cannot be read as JSON ({error})."
        ) from None


def model_of(document: Any) -> Model:
    """Give the model that a file holds."""
    if isinstance(document, dict) and document.get("format") == STACK:
        raise ModelError(
            "this is a stack of several networks, and one is asked for. `lacunet assign --impute` "
            "and `lacunet simulate` read stacks."
        )
    if not isinstance(document, dict) or document.get("format") not in FORMATS:
        raise ModelError(
            f'this is not a model file: it has no "format": "{FORMAT}". Give a file that '
            "`lacunet fit --save model.json` wrote."
        )
    variables = [_variable(entry) for entry in get_list(document, "variables", "the file")]
    families = [_family(entry) for entry in get_list(document, "families", "the file")]
    structure, ordered = assembly.connect(variables, families, "family")
    each = list(zip(ordered, assembly.members(structure), strict=True))
    tables = [
        _table(f, tuple(structure.layout.shape(i)), structure.layout.kinds[i])
        for i, (f, _) in enumerate(each)
    ]
    network = json_known.read(structure, each, tables)
    theta = network.layout.flat(tables)
    json_known.check_kept(network, theta)
    return Model(
        network,
        theta,
        network.layout.prior(_exponents(network, ordered, "alpha")),
        _exponents(network, ordered, "posterior") if _learned(ordered) else None,
        predictors=_predictors(document, network),
    )


def _predictors(document: Any, network: Network) -> Predictors | None:
    """Read what predicts classes, where a file says that something does."""
    if document["format"] != WITH_PREDICTORS:
        return None
    entry = get(document, json_predictors.KEY, "the file")
    return json_predictors.read(entry, network)


def _learned(families: list[Family]) -> bool:
    """Whether the file says what data told: of every family, or of none."""
    without = [f.where for f in families if "posterior" not in f.entry]
    if without and len(without) < len(families):
        raise ModelError(
            f'{without[0]} has no "posterior", but others have. Give it to all of them, or to none.'
        )
    return not without


def _variable(entry: Any) -> Variable:
    name = get(entry, "name", "a variable")
    title = entry.get("title", "")
    if not isinstance(title, str):
        raise ModelError(f"variable '{name}': \"title\" is {title!r}. It must be a text.")
    if "family" in entry:
        return replace(json_numbers.read(entry, str(name)), title=title)
    states = get_list(entry, "states", f"variable '{name}'")
    if not isinstance(name, str):
        raise ModelError(f"a variable has the name {name!r}. Names are texts.")
    if not all(map(is_state, states)):
        raise ModelError(f"variable '{name}': states must be texts, numbers or true/false.")
    hidden = entry.get("hidden", False)
    if not isinstance(hidden, bool):
        raise ModelError(f"variable '{name}': \"hidden\" is {hidden!r}. It must be true or false.")
    return Variable(name, tuple(states), hidden=hidden, bins=read_bins(entry, name), title=title)


def _family(entry: Any) -> Family:
    child = get(entry, "child", "a family")
    where = f"family '{child}'"
    parents = get_list(entry, "parents", where)
    for name in (child, *parents):
        if not isinstance(name, str):
            raise ModelError(f"{where}: {name!r} is not the name of a variable. Names are texts.")
    return Family(child, tuple(parents), where, entry)


def _numbers(family: Family, what: str, asked: tuple[int, ...]) -> FloatArray:
    value = get(family.entry, what, family.where)
    try:
        if not all_numbers(value):
            raise TypeError
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # words, ragged lists, endless integers
        raise ModelError(
            f"{family.where}: its {what} is not a nested list of numbers of shape {asked}."
        ) from None


def _table(family: Family, asked: tuple[int, ...], kind: Kind) -> FloatArray:
    table = assembly.check_shape(_numbers(family, "table", asked), "table", family.where, asked)
    if kind.tabular:
        return assembly.check_table(table, family.where)
    return json_numbers.check_parameters(table, kind, family.where)


def _exponents(network: Network, families: Sequence[Family], what: str) -> FloatArray:
    """Read the prior, or the posterior, of what is learned; (size,)."""
    layout, tables = network.layout, []
    for i, family in enumerate(families):
        shape, learned = tuple(layout.shape(i)), layout.table(layout.learned, i)
        if not learned.any() and what not in family.entry:
            tables.append(np.zeros(shape))
            continue
        given = _numbers(family, what, shape)
        if given.shape not in ((), shape):
            raise ModelError(
                f"{family.where}: its {what} has shape {given.shape}. Give one number, or {shape}."
            )
        exponents = np.broadcast_to(given, shape)
        if layout.kinds[i].tabular:
            assembly.check_exponents(exponents[learned], family.where, what)
        else:
            json_numbers.check_prior(exponents, layout.kinds[i], family.where, what)
        tables.append(exponents)
    return layout.flat(tables)
