"""Class profiles as a heat map and as bars, what separates the classes first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.errors import LacunetError
from lacunet.models.latent_class import is_latent_class
from lacunet.models.network import Model
from lacunet.report.page import number_view
from lacunet.report.page.cells import Cell, chance_cell, share_cell
from lacunet.report.page.number_view import Number
from lacunet.report.page.words import count, hundredths, percent
from lacunet.summaries.profiles import Answers, Profiles, profile
from lacunet.tabular import probability

CELLS = 4000  # numbers that heat maps may have: a page must stay small
STATES = 12  # answers of a variable that are shown; those that differ least are added up
ROOM = 0.11  # share from which a segment has room for its number


@dataclass(frozen=True)
class Segment:
    """A part of a stacked bar."""

    share: str
    shade: str
    text: str  # empty where there is no room
    said: str  # to those who hear the page
    tip: str


@dataclass(frozen=True)
class Answer:
    """One state of a variable: a row of the heat map, and an entry of the legend."""

    label: str
    cells: tuple[Cell, ...]  # one for each class, then everybody
    shade: str


@dataclass(frozen=True)
class Variable:
    """One variable."""

    name: str
    power: str  # share of what could be known of the class, 0 to 1
    told: str  # the same in words
    answers: tuple[Answer, ...]
    bars: tuple[tuple[str, tuple[Segment, ...]], ...]  # one for each class


@dataclass(frozen=True)
class Hidden:
    """One hidden variable."""

    name: str
    classes: tuple[str, ...]
    sizes: tuple[Cell, ...]
    variables: tuple[Variable, ...]
    numbers: tuple[Number, ...]
    legend: list[tuple[str, str]]  # of the charts of numbers: name and line of each class
    pair: str  # the classes in the plane of two numbers, as SVG; empty if there are no two
    left_out: str  # what is not shown
    latent_class: bool


def hidden_views(model: Model) -> tuple[list[Hidden], list[str]]:
    """Give what to show of every hidden variable, and what could not be worked out."""
    views, notes = [], []
    for h in model.network.hidden:
        try:
            views.append(_view(model, profile(model, h)))
        except LacunetError as error:  # nothing is seen here, so cliques can be larger than in EM
            notes.append(f"no profiles of {model.network.variables[h].name}: {error}")
    return views, notes


def _view(model: Model, profiles: Profiles) -> Hidden:
    simple = is_latent_class(model.network)
    alone = len(profiles.states) == 1 and not simple
    entropy = -float(sum(p * math.log(p) for p in profiles.sizes if p > 0))
    budget = CELLS // len(model.network.hidden)
    variables = [] if alone else _variables(profiles, budget, entropy)
    numbers = () if alone else number_view.numbers(profiles, entropy)
    every = len(profiles.answers) + len(profiles.numbers) + profiles.left_out
    hidden = every - len(variables) - len(numbers)
    left_out = f"{count(hidden, 'more variable')} that separate less are not shown."
    return Hidden(
        profiles.name,
        tuple(f"{profiles.name} {state}" for state in profiles.states),
        tuple(share_cell(p) for p in ((1.0,) if alone else profiles.sizes)),
        tuple(variables),
        numbers,
        number_view.legend(profiles),
        number_view.pair_chart(profiles, model) if simple else "",
        "One state: there is nothing to compare." if alone else left_out if hidden else "",
        simple,
    )


def _variables(profiles: Profiles, budget: int, entropy: float) -> list[Variable]:
    """Give as many variables as there may be cells, one at least."""
    variables: list[Variable] = []
    for a in profiles.answers:
        budget -= (len(profiles.states) + 1) * min(len(a.states), STATES)
        if budget < 0 and variables:
            break
        variables.append(_variable(_short(a), profiles, entropy))
    return variables


def _short(a: Answers) -> Answers:
    """Add up the answers that differ least between the classes, where there are very many."""
    if len(a.states) <= STATES:
        return a
    difference = np.ptp(a.given, axis=0) if len(a.given) > 1 else a.overall
    kept = sorted(np.argsort(-difference, kind="stable")[: STATES - 1].tolist())
    rest = [k for k in range(len(a.states)) if k not in kept]
    return Answers(
        a.name,
        (*(a.states[k] for k in kept), f"({len(rest)} others)"),
        np.column_stack([a.given[:, kept], a.given[:, rest].sum(axis=1)]),
        np.append(a.overall[kept], a.overall[rest].sum()),
        a.information,
    )


def _variable(a: Answers, profiles: Profiles, entropy: float) -> Variable:
    power = min(a.information / entropy, 1.0) if entropy > 0 else 0.0
    last = max(len(a.states) - 1, 1)
    shades = [0.12 + 0.8 * k / last for k in range(len(a.states))]  # from light to dark
    everybody = np.vstack([a.given, a.overall])
    answers = tuple(
        Answer(label, tuple(map(chance_cell, everybody[:, k])), hundredths(shades[k]))
        for k, label in enumerate(a.states)
    )
    bars = tuple(
        (state, tuple(_segments(a, profiles.name, state, row, shades)))
        for state, row in zip(profiles.states, a.given, strict=True)
    )
    return Variable(a.name, hundredths(power), percent(power), answers, bars)


def _segments(
    a: Answers, hidden: str, state: str, row: Sequence[float], shades: Sequence[float]
) -> list[Segment]:
    return [
        Segment(
            hundredths(p),
            hundredths(shade),
            f"{100 * p:.0f}" if p >= ROOM else "",
            f"{label} {probability(p)}",
            f"{a.name}\n{hidden} {state}: {label}\t{probability(p)}",
        )
        for label, p, shade in zip(a.states, row, shades, strict=True)
        if p > 0
    ]
