"""`lacunet query`: what does a network say, given what is known of a case?"""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, show
from lacunet.cli.parsing import parse_given, parse_names, parse_soft, split
from lacunet.cli.paths import READS
from lacunet.errors import OptionError
from lacunet.report.answer_documents import (
    answer_document,
    most_probable_document,
    separations_document,
)

Asked: TypeAlias = Annotated[
    Path, o.argument("MODEL", "Model file: .json, or a network with its tables (.bif, …)."), READS
]
Of: TypeAlias = Annotated[
    list[str] | None, o.option(f"Variables to ask for, all together; {o.REPEAT}", metavar="NAME")
]
Given: TypeAlias = Annotated[
    list[str] | None, o.option(f"What is seen; {o.REPEAT}", metavar="NAME=STATE")
]
Soft: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        "What is heard but not sure: how likely that is in each state of a variable (states left "
        "out: 0); may be repeated.",
        metavar="NAME=STATE:WEIGHT,…",
    ),
]
Do: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        f"What is set from outside, so that its causes have no say; {o.REPEAT}",
        metavar="NAME=STATE",
    ),
]
MostProbable: TypeAlias = Annotated[
    bool,
    o.switch(
        "--most-probable",
        "The states that are most probable together: of --of, or of all that is not known.",
    ),
]
Separated: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        "Ask the graph alone: does it make each pair of these variables independent, given those "
        f"named by --given and --do? {o.REPEAT.capitalize()}",
        metavar="NAME",
    ),
]


@command
@o.options_after(api.answer, separated=("plug_in", *o.PRINTING))
def query(
    asked: o.Asked,
    model: Asked,
    of: Of = None,
    given: Given = None,
    soft: Soft = None,
    do: Do = None,
    most_probable: MostProbable = False,
    separated: Separated = None,
) -> None:
    """Ask a network: p(variables | what is known of a case), exact.

    Or the most probable states together (--most-probable), or which variables the graph alone makes
    independent (--separated). Hidden variables may be asked for, and given. Of a number, given as
    NAME=NUMBER, the answer is its mean and its standard deviation; it is asked for by itself. A
    fitted model is asked of the posterior of its parameters.
    """
    network = api.as_model(model)
    names = [v.name for v in network.network.variables]
    if separated is not None:
        if of or soft or most_probable:
            raise OptionError(
                "--separated asks the graph alone. Leave out --of, --soft and --most-probable."
            )
        known = parse_names(given, names), parse_names(do, names)
        pairs = api.separations(network, split(separated, names), *known)
        show(pairs, separations_document(pairs), asked.form)
        return
    wanted = [name for name in split(of, names) if name]
    if not wanted and not most_probable:
        raise OptionError(
            "nothing is asked for. Give --of NAME, --most-probable, or --separated NAME,NAME."
        )
    case: dict[str, Any] = {
        "evidence": _evidence(given, soft, [*names, *api.covariates_of(network).names]),
        "do": parse_given(do, names, "--do"),
        "settings": asked.settings,
    }
    if most_probable:
        found = api.most_probable(network, wanted or None, **case)
        show(found, most_probable_document(found), asked.form)
    else:
        answer = api.answer(network, wanted, **case)
        show(answer, answer_document(answer), asked.form)


def _evidence(
    given: list[str] | None, soft: list[str] | None, names: list[str]
) -> dict[str, str | dict[str, float]]:
    """Put together what is seen and what is heard."""
    seen, heard = parse_given(given, names, "--given"), parse_soft(soft, names)
    for name in seen:
        if name in heard:
            raise OptionError(f"'{name}' stands in --given and in --soft. Name it once.")
    return {**seen, **heard}
