"""The JSON model file, `lacunet-model/1`: the one format that also holds the prior.

::

    {"format": "lacunet-model/1",
     "variables": [{"name", "states": [...], "hidden": true|false, "title": what it is about,
                    "bins": {"edges": [...], "typical": [...]}}, ...],
     "families": [{"child", "parents": [...], "table": nested by parents, then child state,
                   "alpha": same shape or one number, "posterior": same shape,
                   "fixed": true, "tied_to": another child, "zeros": [{"state", "given"}]}, ...]}

Bins of numbers have the edges between them, and a typical number each. A fixed table is not learned
and has no prior. A tied table is that of another child. A zero is an impossible state, given the
states of some parents by name ("given": {"sex": "male"}). A fitted model has "posterior", the
exponents given the data; predictions use their means, and "table" is the estimate. Numbers have all
digits, so that files round-trip exactly. `lacunet-model/2` also has numeric variables, whose
tables, priors and posteriors are nested by parents, then by the places of the likelihood.
`lacunet-model/4` has classes that covariates predict (`json_variables`). Files of version 3, which
had another key for the joint mode, are read.

A stack, `lacunet-stack/1`, holds weighted models of the same columns, without white space. A member
with numbers has the posterior of its predictive distributions.

::

    {"format": "lacunet-stack/1",
     "fixed": true,  (only if shares are: see `Ensemble`)
     "seen": "…",  (digest of the rows that it was learned from, if known)
     "members": [{"name", "weight", "model": what a model file holds}, ...]}
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.likelihoods import Likelihood, Segment, with_prior
from lacunet.models.ensemble import Ensemble, Member, model_as_shown
from lacunet.models.formats import assembly
from lacunet.models.formats.assembly import Family
from lacunet.models.formats.json_variables import (
    PREDICTORS,
    all_numbers,
    get,
    get_flag,
    get_list,
    read_predictors,
    read_variable,
    write_predictors,
    write_variable,
)
from lacunet.models.known import KnownTable
from lacunet.models.known_tables import zeros_in, zeros_of
from lacunet.models.network import Model, Network, Variable
from lacunet.runtime.arrays import FloatArray

FORMAT = "lacunet-model/1"
WITH_NUMBERS = "lacunet-model/2"
WITH_PREDICTORS = "lacunet-model/4"
OLD_PREDICTORS = "lacunet-model/3"  # with another key for the joint mode; read, not written
STACK = "lacunet-stack/1"


def write(model: Model) -> str:
    """The text of a model file."""
    return json.dumps(document_of(model), indent=1, ensure_ascii=False) + "\n"


def document_of(model: Model) -> dict[str, Any]:
    """The document of a model file."""
    network, layout = model.network, model.network.layout
    posterior = model.averaged if model.posterior is None else model.posterior
    alpha, families = layout.pooled(model.alpha), []
    for i, (*parents, child) in enumerate(assembly.members(network)):
        exponents, learned = layout.table(alpha, i), layout.table(layout.learned, i)
        entry: dict[str, Any] = {
            "child": child.name,
            "parents": [p.name for p in parents],
            "table": layout.table(model.theta, i).tolist(),
        }
        if learned.any():  # one exponent if all are equal
            first = float(exponents[learned][0])
            entry["alpha"] = first if np.all(exponents[learned] == first) else exponents.tolist()
        if posterior is not None:
            entry["posterior"] = layout.table(posterior, i).tolist()
        families.append({**entry, **_known_entry(child, parents)})
    document = {
        "format": FORMAT if layout.tabular else WITH_NUMBERS,
        "variables": [write_variable(v) for v in network.variables],
        "families": families,
    }
    if model.predictors is None:
        return document
    return {**document, "format": WITH_PREDICTORS, **write_predictors(model.predictors)}


def _known_entry(child: Variable, parents: Sequence[Variable]) -> dict[str, Any]:
    """The constraints on a table."""
    entry: dict[str, Any] = {} if child.tied_to is None else {"tied_to": child.tied_to}
    if child.known is None:
        return entry
    if child.known.fixed:
        return {**entry, "fixed": True}
    return {**entry, "zeros": zeros_in(child.known, child, parents)}


def read(text: str) -> Model:
    """Read the text of a model file; every mistake is a ModelError that names the place."""
    return model_of(read_json(text))


def read_json(text: str) -> Any:
    """Parse JSON; errors name a likely cause."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelError(
            f"line {error.lineno}: this is not valid JSON ({error.msg}). "
            "The file may be cut off, or be another format."
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a huge number
        raise ModelError(
            f"this is not a model file: it cannot be read as JSON ({error})."
        ) from None


def model_of(document: Any) -> Model:
    """The model of a document."""
    file_format = document.get("format") if isinstance(document, dict) else None
    if file_format == STACK:
        raise ModelError(
            "this is a stack of several networks, but one network is needed. "
            "`lacunet assign --impute` and `lacunet simulate` read stacks."
        )
    if file_format not in (FORMAT, WITH_NUMBERS, WITH_PREDICTORS, OLD_PREDICTORS):
        raise ModelError(
            f'this is not a model file: it has no "format": "{FORMAT}". Give a file that '
            "`lacunet fit --save model.json` wrote."
        )
    variables = [read_variable(entry) for entry in get_list(document, "variables", "the file")]
    families = [_family(entry) for entry in get_list(document, "families", "the file")]
    structure, families = assembly.connect(variables, families, "family")
    layout = structure.layout
    tables = [_table(f, tuple(layout.shape(i)), layout.kinds[i]) for i, f in enumerate(families)]
    network = _with_known(structure, families, tables)
    theta = network.layout.flat(tables)
    _check_known_tables(network, theta)
    alpha = network.layout.prior(_exponents(network, families, "alpha"))
    without = [f.where for f in families if "posterior" not in f.entry]
    if without and len(without) < len(families):
        raise ModelError(
            f'{without[0]} has no "posterior", but others have. Give it to all of them, or to none.'
        )
    posterior = None if without else _exponents(network, families, "posterior")
    predictors = None
    if file_format in (WITH_PREDICTORS, OLD_PREDICTORS):
        predictors = read_predictors(get(document, PREDICTORS, "the file"), network)
    return Model(network, theta, alpha, posterior, predictors=predictors)


def _family(entry: Any) -> Family:
    child = get(entry, "child", "a family")
    where = f"family '{child}'"
    parents = get_list(entry, "parents", where)
    for name in (child, *parents):
        if not isinstance(name, str):
            raise ModelError(f"{where}: {name!r} is not the name of a variable. Names are texts.")
    return Family(child, tuple(parents), where, entry)


def _numbers(family: Family, what: str, shape: tuple[int, ...]) -> FloatArray:
    value = get(family.entry, what, family.where)
    try:
        if not all_numbers(value):
            raise TypeError
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # texts, ragged lists, huge integers
        raise ModelError(
            f"{family.where}: its {what} is not a nested list of numbers of shape {shape}."
        ) from None


def _table(family: Family, shape: tuple[int, ...], kind: Likelihood) -> FloatArray:
    """Read a table of θ, and check its parameters."""
    where = family.where
    table = assembly.check_shape(_numbers(family, "table", shape), "table", where, shape)
    if kind.tabular:
        return assembly.check_table(table, where)
    if not table.size:  # another variable has the parameters of its block
        return table
    theta, at = table.reshape(-1), Segment.of_table(kind, table.size // shape[-1], shape[-1])
    valid = np.isfinite(theta).all() and kind.allows(theta, at)
    if not valid or not np.allclose(kind.moved(theta, np.zeros_like(theta), at), theta, rtol=1e-9):
        raise ModelError(f"{where}: its table does not hold parameters of a {kind.name} family.")
    return table


def _exponents(network: Network, families: Sequence[Family], what: str) -> FloatArray:
    """Read the prior or the posterior of learned parameters, (size,)."""
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
        elif exponents.size:
            _check_prior(exponents, layout.kinds[i], family.where, what)
        tables.append(exponents)
    return layout.flat(tables)


def _check_prior(table: FloatArray, kind: Likelihood, where: str, what: str) -> None:
    """Raise ModelError unless hyperparameters (..., width) are those of a proper prior."""
    at = Segment.of_table(kind, table.size // table.shape[-1], table.shape[-1])
    with np.errstate(all="ignore"):
        integral = with_prior(kind).log_integral(table.reshape(1, -1), at)
    if not (np.isfinite(table).all() and np.isfinite(integral).all()):
        raise ModelError(f"{where}: its {what} is not a prior of a {kind.name} family.")


def _with_known(
    network: Network, families: Sequence[Family], tables: Sequence[FloatArray]
) -> Network:
    """The network with the constraints in its families' entries: fixed, tied, with zeros."""
    variables = []
    for family, (*parents, child), table in zip(
        families, assembly.members(network), tables, strict=True
    ):
        where, entry = family.where, family.entry
        if "tied" in entry:
            raise ModelError(
                f'{where} is "tied". Say "tied_to": the variable whose table it shares.'
            )
        fixed, zeros = get_flag(entry, "fixed", f"{where}:"), entry.get("zeros", [])
        tied_to = entry.get("tied_to")
        if not isinstance(tied_to, str | None):
            raise ModelError(
                f'{where}: "tied_to" is {tied_to!r}. It must be the name of a variable.'
            )
        if not isinstance(zeros, list) or not all(map(_is_zero, zeros)):
            raise ModelError(
                f'{where}: "zeros" must be a list of objects with a "state", and the states of '
                'some parents as "given".'
            )
        if fixed and zeros:
            raise ModelError(f'{where} is "fixed" and has "zeros". Write them into its table.')
        known = KnownTable.of(table) if fixed else None
        if zeros:
            known = zeros_of(child, parents, zeros)
        variables.append(replace(child, known=known, tied_to=tied_to))
    return Network.build(variables, network.parents)


def _is_zero(zero: Any) -> bool:
    return isinstance(zero, dict) and "state" in zero and isinstance(zero.get("given", {}), dict)


def _check_known_tables(network: Network, theta: FloatArray) -> None:
    """Raise ModelError if parameters violate zeros, fixed tables or ties."""
    layout = network.layout
    given = theta if layout.given is None else layout.given
    unchanged = np.where(layout.learned, theta == theta[layout.slots], theta == given)
    for i, v in enumerate(network.variables):
        if not layout.table(unchanged, i).all():
            what = "has a probability where its zeros leave none"
            if v.tied_to is not None:
                what = f"differs from that of '{v.tied_to}', which it is tied to"
            raise ModelError(f"family '{v.name}': its table {what}. Correct one of the two.")


def write_stack(ensemble: Ensemble) -> str:
    """The text of the file of a stack."""
    members = [
        {"name": m.name, "weight": m.weight, "model": document_of(model_as_shown(m.model))}
        for m in ensemble.members
    ]
    document = {
        "format": STACK,
        **({"fixed": True} if ensemble.fixed else {}),
        **({"seen": ensemble.seen} if ensemble.seen else {}),
        "members": members,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def is_stack(document: Any) -> bool:
    """Whether a document is a stack."""
    return isinstance(document, dict) and document.get("format") == STACK


def ensemble_of(document: Any) -> Ensemble:
    """The stack of a document; every mistake is a ModelError that names the place."""
    entries = get_list(document, "members", "the file")
    if not entries:
        raise ModelError('"members" of the file is empty. A stack has one member at least.')
    fixed, seen, members = document.get("fixed", False), document.get("seen", ""), []
    if not isinstance(fixed, bool):
        raise ModelError(f'"fixed" of the file is {fixed!r}. It must be true or false.')
    if not isinstance(seen, str):
        raise ModelError(f'"seen" of the file is {seen!r}. It must be a text.')
    for k, entry in enumerate(entries, start=1):
        where = f"member {k}"
        name, weight = get(entry, "name", where), get(entry, "weight", where)
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ModelError(f'{where}: "weight" is {weight!r}. It must be a number.')
        try:
            model = model_of(get(entry, "model", where))
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from error.__cause__
        members.append(Member(str(name), float(weight), model.predictive))
    return Ensemble(tuple(members), fixed, seen)
