"""`lacunet fit`: one latent class model or network, with covariates, or in groups."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, echo
from lacunet.cli.options import Request
from lacunet.cli.outcome import (
    Further,
    Wanted,
    audit,
    check_one_model,
    check_outputs,
    finish_fit,
    read_model,
    request_document,
    save_network,
    show_forecast,
    warn_of_states,
)
from lacunet.cli.parsing import split
from lacunet.cli.paths import READS, Writes
from lacunet.data import Table
from lacunet.data.design import SamplingDesign
from lacunet.errors import OptionError
from lacunet.models.formats import check_network_file
from lacunet.models.network import Network
from lacunet.plots import plot_group_profiles, plot_profile_lines
from lacunet.plots.figures import check_picture
from lacunet.report.page.network_page import (
    fitted_answer,
    groups_answer,
    regression_answer,
)
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.bootstrap import FEWEST, check_number, check_replicates
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import check_items, item_table
from lacunet.tabular import Printable, Together

# Settings of `fit` that need another option.
ABOUT: Mapping[str, tuple[str, ...]] = {
    "coefficient_sd": ("covariates",),
    "missing_covariates": ("covariates",),
    "evidence": ("covariates", "group"),
    "quick": ("group",),
}
SUBJECTS = {"covariates": "covariates", "group": "groups"}


class Residuals(StrEnum):
    """Treatment of residual associations between items."""

    ADD = "add"


ResidualsOption: TypeAlias = Annotated[
    Residuals | None,
    o.option(
        "add: try direct effects between items, the worst bivariate residual first, and keep those "
        "that raise the evidence."
    ),
]
Covariates: TypeAlias = Annotated[
    str | None,
    o.option(
        "Columns that predict classes and are not items, comma-separated; C(NAME) makes "
        "categories of numbers. Or a formula: '~ age + C(region)'.",
        metavar="COLUMNS",
    ),
]
Group: TypeAlias = Annotated[
    str | None,
    o.option(
        "Column of groups, to test measurement invariance: models with equal, partly equal and "
        "free item probabilities are compared.",
        metavar="COLUMN",
    ),
]
Free: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        "With --group: free items of the partly equal model (default: chosen by the evidence); "
        f"{o.REPEAT}",
        metavar="ITEM",
    ),
]
Save: TypeAlias = Annotated[
    Path | None,
    o.option("Model file to write: .json, or .bif, .xmlbif, .xdsl; .dot for a picture."),
    Writes(check_network_file),
]
Plot: TypeAlias = Annotated[
    Path | None,
    o.option(
        "Also plot the profiles: a line for each class over the items, with intervals; with "
        "--group a panel for each class. The ending is .svg, .pdf or .png.",
        metavar="FILE",
    ),
    Writes(check_picture),
]
IntervalsOption: TypeAlias = Annotated[
    bool, o.switch("--intervals", "Standard errors and confidence intervals of all parameters.")
]
Statistics: TypeAlias = Annotated[
    bool,
    o.switch(
        "--statistics", "AIC, BIC, CAIC, SABIC (lower is better), entropy, G², bivariate residuals."
    ),
]
Like: TypeAlias = Annotated[
    Path | None,
    o.option("Model file: number the hidden states like the most similar ones there."),
    READS,
]


@command
@o.options_after(
    api.fit,
    covariates=("missing_covariates", "coefficient_sd"),
    free=("quick", "evidence", "target", "budget"),
    intervals=("level", "bootstrap"),
    like=(*o.LEARNING, *o.TABLE, *o.PRINTING),
)
def fit(
    request: o.Request,
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    edge: o.EdgeOption = None,
    residuals: ResidualsOption = None,
    covariates: Covariates = None,
    group: Group = None,
    free: Free = None,
    save: Save = None,
    report: o.Report = None,
    tables: o.Tables = None,
    plot: Plot = None,
    intervals: IntervalsOption = False,
    statistics: Statistics = False,
    dry_run: o.DryRun = False,
    like: Like = None,
) -> None:
    """Fit a latent class model with a given number of classes, or a network.

    Only the structure of a network is used; its parameters are learned. --covariates fits a latent
    class regression in one step. --group tests measurement invariance between groups.
    """
    check_one_model(states, network)
    given: dict[str, Any] = {
        "covariates": covariates,
        "group": group,
        "free": free,
        "network": network,
        "hidden": hidden,
        "knowledge": knowledge,
        "edge": edge,
        "residuals": residuals,
        "report": report,
        "tables": tables,
        "plot": plot,
        "like": like,
        "statistics": statistics,
        "bootstrap": request.settings.bootstrap,
        "dry-run": dry_run,
    }
    _refuse_without(request.settings, given)
    wanted = Wanted(save, report, tables, plot, intervals, statistics)
    if covariates is not None:
        but = {"report", "tables", "plot", "statistics", "bootstrap"}
        _refuse_beside("covariates", "predict the classes of a latent class model", given, but)
        fit_covariates(request, data, states, covariates, wanted)
    elif group is not None:
        but = {"free", "report", "tables", "plot"}
        _refuse_beside("group", "compares classes in groups", given, but)
        fit_groups(request, data, states, group, free, wanted)
    else:
        _fit(request, data, states, given, wanted)


def _refuse_beside(
    option: str, which: str, given: Mapping[str, object], but: Collection[str]
) -> None:
    """Refuse options that contradict another; `which` describes that one."""
    for name, value in given.items():
        if value and name not in (option, *but):
            raise OptionError(
                f"--{name} cannot be given with --{option}, which {which}. Leave one of the two "
                "out."
            )


def _refuse_without(settings: Settings, given: Mapping[str, object]) -> None:
    """Refuse settings without the option that they need."""
    for name, wanted in ABOUT.items():
        changed: Any = getattr(settings, name) != getattr(DEFAULTS, name)
        if changed and not any(given[other] for other in wanted):
            subject = " or ".join(SUBJECTS[other] for other in wanted)
            other = " (lacunet evidence measures that of other models)" * (name == "evidence")
            raise OptionError(
                f"--{name.replace('_', '-')} is about {subject}{other}. Give "
                f"{' or '.join(f'--{other}' for other in wanted)} too."
            )


def _fit(
    request: o.Request, data: Path, states: int | None, given: Mapping[str, Any], wanted: Wanted
) -> None:
    """Fit, save and show one model."""
    if given["free"]:
        raise OptionError("--free is about groups. Give --group too.")
    if given["residuals"] is not None:
        refused = ("network", "hidden", "knowledge", "tables", "plot", "dry-run")
        no = {name: given[name] for name in refused}
        _refuse_beside("residuals", "adds effects to a latent class model", no, ())
    settings, edges = request.settings, given["edge"] or ()
    resembled = None if given["like"] is None else api.as_model(given["like"])
    model = states, given["network"], given["hidden"]
    table, classes, structure = read_model(data, *model, request)
    _check(table, structure, settings, wanted, edges)
    models: dict[str, Any] = {"knowledge": given["knowledge"], "edges": edges}
    if given["dry-run"]:
        alone = replace(request, settings=replace(settings, quick=True))  # nothing is sampled
        show_forecast(alone, table, classes, structure, **models)
        return
    effects = None
    with request.work() as kwargs:
        if given["residuals"] is None or classes is None:
            fitted = api.fit(table, classes, network=structure, **models, **kwargs)
        else:
            effects = api.add_direct_effects(table, classes, edges=edges, **kwargs)
            fitted = effects.fit
    if resembled is not None:
        fitted = api.match_classes(fitted, resembled)
    save_network(fitted.model, wanted.save)  # before the slow intervals
    further = _further(
        request,
        wanted,
        partial(api.intervals, table, fitted),
        lambda: api.fit_statistics(table, fitted, settings=settings),
        sampled=table.design,
    )
    tried = {} if effects is None else {"Direct effects": [effects.tried]}
    document = {
        "hidden": fitted.model.network.hidden_sizes,
        "dimension": fitted.model.network.dimension,
        "missing_as_state": settings.missing_as_state,
        **fitted.to_dict(),
        "seconds": {"em": fitted.seconds},
    }
    finish_fit(
        request,
        wanted,
        fitted if effects is None else replace(effects, fit=fitted),
        {**request_document(table, request, states), **document},
        further,
        lambda others: fitted_answer(
            fitted, table, settings, {**tried, **others}, further.intervals
        ),
        tables=lambda: api.paper_tables(fitted, further.intervals),
        picture=lambda: plot_profile_lines(fitted, intervals=further.intervals or True),
        effects=None if effects is None else effects.to_dict(),
    )


def _check(
    table: Table, structure: Network | None, settings: Settings, wanted: Wanted, edges: object
) -> None:
    """Refuse impossible outputs and replicates before the fit."""
    check_outputs(table, wanted.save, wanted.plot)
    for name, output in (("--tables", wanted.tables), ("--plot", wanted.plot)):
        if output is not None and edges:
            raise OptionError(
                f"{name} has no meaning with --edge: items with parents besides the class have no "
                "table of items by classes. Leave one of them out."
            )
        if output is not None and structure is not None:
            check_items(structure)
    if settings.bootstrap:
        check_number(settings.bootstrap, FEWEST)
        if table.design is None:
            check_replicates(table.counts, settings.bootstrap, FEWEST)


def _further(
    request: o.Request,
    wanted: Wanted,
    intervals: Callable[..., Intervals],
    statistics: Callable[[], Printable],
    sampled: SamplingDesign | None = None,
) -> Further:
    """Compute the requested intervals and statistics, by name."""
    precise = None
    drawn = sampled is not None and sampled.declared  # a design affects only intervals
    if wanted.intervals or request.settings.bootstrap or drawn:
        with request.work() as kwargs:
            precise = intervals(**kwargs)
    return Further(precise, statistics() if wanted.statistics else None)


def fit_covariates(
    request: Request, data: Path, states: int | None, covariates: str, wanted: Wanted
) -> None:
    """Fit, save and show a latent class regression."""
    if states is None:
        raise OptionError("--covariates predict classes. Give their number: --states.")
    terms, table = api.read_covariates(data, covariates, request.reading)
    audit(table)
    warn_of_states([states], table)
    check_outputs(table, wanted.save, wanted.plot, but=[term.name for term in terms])
    with request.work() as kwargs:
        fitted = api.class_regression(table, states, covariates, **kwargs)
    for note in fitted.table.notes[len(table.notes) :]:
        echo(f"note: {note}")
    save_network(fitted.model, wanted.save)
    finish_fit(
        request,
        wanted,
        fitted,
        {**request_document(fitted.table, request, states), **fitted.to_dict()},
        _further(request, wanted, lambda **_: fitted.intervals, lambda: fitted.statistics),
        lambda others: regression_answer(fitted, request.settings, others),
        tables=lambda: Together(fitted.coefficients, item_table(fitted.intervals)),
        picture=lambda: plot_profile_lines(fitted.model, intervals=fitted.intervals),
    )


def fit_groups(
    request: Request,
    data: Path,
    states: int | None,
    group: str,
    free: list[str] | None,
    wanted: Wanted,
) -> None:
    """Fit, save and show classes in groups."""
    if states is None:
        raise OptionError("--group compares classes. Give their number: --states.")
    table = api.read_groups(data, group, request.reading)
    audit(table)
    warn_of_states([states], table)
    check_outputs(table, wanted.save)
    check_outputs(table, None, wanted.plot, but=[group])
    named = None if free is None else split(free, [c.name for c in table.columns])
    with request.work() as kwargs:
        fitted = api.compare_groups(table, states, group, free=named, **kwargs)
    save_network(fitted.model, wanted.save)
    intervals = partial(api.intervals, fitted.selection.table, fitted.fit)
    further = _further(request, wanted, intervals, lambda: fitted, sampled=table.design)
    finish_fit(
        request,
        wanted,
        fitted,
        {**request_document(table, request, states), **fitted.to_dict()},
        further,
        lambda others: groups_answer(fitted, request.settings, others, further.intervals),
        tables=lambda: fitted,
        picture=lambda: plot_group_profiles(fitted, intervals=further.intervals or True),
    )
