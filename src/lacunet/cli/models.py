"""`lacunet query`, `random`, `score`, `simulate` and `assign`: uses of a model."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, echo, echo_written, print_line, show
from lacunet.cli.outcome import audit, echo_not_shown, note_missing_state
from lacunet.cli.parsing import parse_given, parse_hidden, parse_names, parse_soft, split
from lacunet.cli.paths import READS, Writes
from lacunet.data.write import append_columns, column_names, write_codes
from lacunet.errors import OptionError
from lacunet.models.formats import write_model

QueryModel: TypeAlias = Annotated[
    Path, o.argument("MODEL", "Model file: .json, or a network with its tables (.bif, …)."), READS
]
Of: TypeAlias = Annotated[
    list[str] | None, o.option(f"Query variables, jointly; {o.REPEAT}", metavar="NAME")
]
Given: TypeAlias = Annotated[
    list[str] | None, o.option(f"Observed state; {o.REPEAT}", metavar="NAME=STATE")
]
Soft: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        "Soft evidence: a likelihood for each state of a variable (default: 0); may be repeated.",
        metavar="NAME=STATE:WEIGHT,…",
    ),
]
Do: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        f"Intervention: set a variable regardless of its causes; {o.REPEAT}",
        metavar="NAME=STATE",
    ),
]
MostProbable: TypeAlias = Annotated[
    bool,
    o.switch(
        "--most-probable",
        "Most probable joint states: of --of, or of all unobserved variables.",
    ),
]
Separated: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        "Test d-separation of each pair of these variables, given those of --given and --do; "
        f"{o.REPEAT}",
        metavar="NAME",
    ),
]


@command
@o.options_after(api.answer, separated=("plug_in", *o.PRINTING))
def query(
    request: o.Request,
    model: QueryModel,
    of: Of = None,
    given: Given = None,
    soft: Soft = None,
    do: Do = None,
    most_probable: MostProbable = False,
    separated: Separated = None,
) -> None:
    """Compute p(variables | evidence of a case), exactly.

    Or the most probable joint states (--most-probable), or d-separation in the graph (--separated).
    Hidden variables may be queried and given. A number, given as NAME=NUMBER, must be queried
    alone; the result is its mean and standard deviation. Fitted models give posterior-predictive
    probabilities.
    """
    network = api.as_model(model)
    names = [v.name for v in network.network.variables]
    if separated is not None:
        if of or soft or most_probable:
            raise OptionError(
                "--separated concerns only the graph. Leave out --of, --soft and --most-probable."
            )
        known = parse_names(given, names), parse_names(do, names)
        pairs = api.separations(network, split(separated, names), *known)
        show(pairs, pairs.to_dict(), request.form)
        return
    wanted = [name for name in split(of, names) if name]
    if not wanted and not most_probable:
        raise OptionError(
            "no query is given. Give --of NAME, --most-probable, or --separated NAME,NAME."
        )
    case: dict[str, Any] = {
        "evidence": _evidence(given, soft, [*names, *api.covariates_of(network).names]),
        "do": parse_given(do, names, "--do"),
        "settings": request.settings,
    }
    if most_probable:
        result = api.most_probable(network, wanted or None, **case)
        show(result, result.to_dict(), request.form)
    else:
        answer = api.answer(network, wanted, **case)
        show(answer, answer.to_dict(), request.form)


def _evidence(
    given: list[str] | None, soft: list[str] | None, names: list[str]
) -> dict[str, str | dict[str, float]]:
    """Combine observed states and soft evidence."""
    seen, heard = parse_given(given, names, "--given"), parse_soft(soft, names)
    for name in seen:
        if name in heard:
            raise OptionError(f"'{name}' is in both --given and --soft. Name it once.")
    return {**seen, **heard}


@command
@o.options_after(api.random_model, leaf_states=("alpha", "seed", "json"))
def random(
    request: o.Request,
    classes: Annotated[int, o.option("States of the hidden root.")],
    leaves: Annotated[int, o.option("Observed variables.")],
    output: Annotated[
        Path, o.option("Model file to write: .json.", "--output", "-o"), Writes(o.check_json)
    ],
    leaf_states: Annotated[int, typer.Option(help="States of each observed variable.")] = 2,
) -> None:
    """Write a random naive-Bayes model, with uniformly drawn distributions as in the paper."""
    model = api.random_model(classes, leaves, leaf_states=leaf_states, settings=request.settings)
    write_model(model, output)
    dimension = model.network.dimension
    document = {"output": str(output), "dimension": dimension, "seed": request.settings.seed}
    print_line(document, f"written: {output}", request.form)


@command
@o.options_after(
    api.score, refit=("scores", "estimate", "dimension", "threads", *o.MISSING, *o.PRINTING)
)
def score(
    request: o.Request,
    data: o.Data,
    model: o.ModelFile,
    hidden: o.AlsoHidden = None,
    refit: Annotated[bool, o.switch("--refit", "Run EM from the model first.")] = False,
) -> None:
    """Score a model on a table, at exactly the parameters in its file.

    With --refit, EM starts from them, and its result is scored. Scores that are defined at their
    own mode (csl) search for it from there; scores that need models with fewer classes
    (csl-occupied, vb-occupied) fit them.
    """
    given = api.as_model(model, parse_hidden(hidden))
    table = api.table_with_model(
        data, given.network, request.settings, request.reading, numbers=True
    )
    audit(table)
    note_missing_state(given.network, request.settings)
    with request.work() as kwargs:
        result = api.score(table, given, refit=refit, **kwargs)
    show(result, {"data": table.to_dict(), **result.to_dict()}, request.form)


@command
@o.options_after(api.simulate, output=("seed",), missing_rate=("plug_in", "json"))
def simulate(
    request: o.Request,
    model: o.ModelFile,
    rows: Annotated[int, o.option("Number of rows.")],
    output: o.TableFile,
    missing_rate: Annotated[
        float, typer.Option(help="Share of the cells to leave empty, completely at random.")
    ] = 0.0,
) -> None:
    """Draw rows from a model or a stack, without the hidden variables."""
    given = api.read_predictive(model, request.settings)
    if known := api.covariates_of(given).names:
        listed = ", ".join(f"'{name}'" for name in known)
        echo(
            f"note: {listed} predict the classes of the model, and have no distribution themselves."
        )
        echo("note: classes are drawn by their sizes over the rows that it was fitted to.")
    seed = request.settings.seed
    columns, codes = api.draw(given, rows, seed, missing_rate)
    write_codes(columns, codes, output)
    document = {"output": str(output), "rows": rows, "seed": seed, "missing_rate": missing_rate}
    print_line(document, f"written: {output}", request.form)


@command
@o.options_after(api.assign, draw=("seed", "missing", "missing_as_state", "plug_in", "json"))
def assign(
    request: o.Request,
    data: o.Data,
    model: o.ModelFile,
    output: o.TableFile,
    hidden: o.AlsoHidden = None,
    impute: Annotated[bool, o.switch("--impute", "Fill in missing cells too.")] = False,
    draw: Annotated[
        bool, o.switch("--draw", "Fill in draws instead of the most probable states and means.")
    ] = False,
    anomalies: Annotated[
        bool, o.switch("--anomalies", "Add log p and tail probability of each row.")
    ] = False,
) -> None:
    """Assign each row its class: the most probable hidden state, and all probabilities.

    All columns and the order of the rows are kept; the new columns come last. --impute adds the
    most probable value, and the probabilities, of every column with missing cells or absent from
    the table. Numbers get their mean, rounded to the decimals of the column and within its range,
    and its standard deviation. --draw fills in draws instead, which depend on --seed. --anomalies
    adds log p(row), and the probability that a row with the same missing cells is at most as
    probable: below 0.01 is unusual. Fitted models give posterior-predictive probabilities. A stack
    (`lacunet stack --save`) can impute too.
    """
    given = api.read_predictive(model, request.settings, parse_hidden(hidden))
    note_missing_state(given.network, request.settings)
    echo_not_shown(data, given)
    kwargs: dict[str, Any] = {"settings": request.settings, "missing": request.reading.missing}
    result = api.assign(data, given, impute=impute, draw=draw, anomalies=anomalies, **kwargs)
    append_columns(data, api.fresh_names(result.tidy(), column_names(data)), output)
    show(result, {**result.to_dict(), "output": str(output)}, request.form)
    echo_written(output)
