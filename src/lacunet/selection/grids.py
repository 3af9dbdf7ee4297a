"""A selection as grids: the answer, every candidate, what to know, and the chosen classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lacunet.flags import Flag, Kind, Sizes
from lacunet.models.display import model_grids
from lacunet.models.latent_class import has_classes
from lacunet.scores import SCORES
from lacunet.selection.average import Labellings
from lacunet.selection.certainty import TRUTH, Certainty, Factor, How
from lacunet.selection.misfit import misfit_grid
from lacunet.selection.other_answers import calibration_grid, ratio_grid, why_not_bic
from lacunet.selection.reach import at_the_end, beyond, followed, used_note, used_sentence
from lacunet.selection.sensitivity import sensitivity_sentences
from lacunet.tabular import Columns, Grid, Shown, chance, number, probability, share

if TYPE_CHECKING:
    from lacunet.selection.candidates import Selection

KNOWN = (TRUTH, *SCORES)
TITLES = {score.name: score.title for score in KNOWN}
RIVALS = 3  # other candidates that the answer names
WORTH_A_WORD = 0.005  # probability from which on it does
COLUMNS = {score.name: score.column or score.title for score in KNOWN}
ONCE = (Kind.TOO_MANY_PARAMETERS, Kind.FEW_DISTINCT_ROWS)


def answer(selection: Selection) -> str:
    """Say the answer in one sentence."""
    certainty = selection.certainty
    if certainty.choice is None:
        return "No score has a value for any candidate: nothing can be chosen."
    if len(selection.candidates) == 1:
        return f"{_what(selection)} (the only candidate)."
    if selection.at_least:
        return f"{_at_least(selection)}, {certainty.how}."
    if cannot_tell(selection):
        return f"{_what(selection)} (how probable that is cannot be told: the search is unstable)."
    chances = "; ".join(
        [
            _chance_words(selection),
            *_rivals(certainty),
            *beyond(selection),
            *_labelled_words(selection),
        ]
    )
    return f"{_what(selection)} ({chances}), {certainty.how}."


def cannot_tell(selection: Selection) -> bool:
    """Whether no probability can be told: the search for the answer is unstable.

    Its evidence is that of a fit that may not be the best one: any number would be too sure.
    """
    doubted = any(flag.kind is Kind.UNSTABLE_SEARCHES for flag in selection.certainty.notes)
    return doubted and not selection.best.fit.for_scores.stable


def limits(selection: Selection) -> list[str]:
    """Say in sentences what limits the certainty of the answer."""
    survey = selection.table.survey
    weighed = [] if survey is None else [f"rows have {survey}"]
    failed = [f"warning: not fitted, and left out: {each}" for each in selection.failed]
    left = [] if selection.reach is None else [str(selection.reach)]
    noted = map(str, selection.certainty.notes)
    ends = at_the_end(selection)
    if selection.label is not None:
        about = [flag for flag in selection.best.flags if flag.kind in ONCE]
        ends += [f"{selection.best.title}: {flag}" for flag in about]
    further = [followed(selection)] if selection.extended else []
    sentences = [
        *(f"warning: {text}" for text in sensitivity_sentences(selection, differ=True)),
        *_misfit_words(selection),
        *used_sentence(selection),
        *failed,
        *(f"warning: {end}" for end in ends),
        *further,
        *sensitivity_sentences(selection, differ=False),
        *left,
        *noted,
        *weighed,
    ]
    return [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences]


def beside_classes(selection: Selection) -> Grid | None:
    """Show models in place of classes, and checks, where they are worth a word."""
    found = selection.misfit
    if found is None or found.chosen != selection.label:
        return None
    near = any(a.probability >= WORTH_A_WORD for a in found.alternatives)
    return misfit_grid(found, selection.best.title) if near or found.failed else None


def _misfit_words(selection: Selection) -> list[str]:
    """Say what the chosen classes probably stand for, if that is not classes."""
    found = selection.misfit
    if found is None or found.chosen != selection.label:
        return []
    said = found.warning(selection.best.title)
    return [f"warning: {said}"] if said else []


def _at_least(selection: Selection) -> str:
    """Say the answer where it is the largest number tried, so that none is known to be right."""
    what, labels = _what(selection), [c.label for c in selection.candidates]
    if isinstance(selection.label, str):
        return f"At least {what} ({_all(selection.at_edge)} at the largest number that was tried)"
    certainty, (_, *others) = selection.certainty, [selection.label, *_rivals(selection.certainty)]
    k = selection.best.label
    p = chance(certainty.probabilities[k], certainty.stderr[k])
    among = [f"among {_tried(selection)}, {k}: {p}", *others] if others else []
    if cannot_tell(selection):
        among = ["how probable that is cannot be told: the search is unstable"]
    most = f"{max(k for k in labels if isinstance(k, int))} is the most that was tried"
    return f"At least {what} ({'; '.join([f'{most}, and more may be right', *among])})"


def _all(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _chance_words(selection: Selection) -> str:
    """How probable the answer is, and among what."""
    certainty, k = selection.certainty, selection.best.label
    chances = chance(certainty.probabilities[k], certainty.stderr[k])
    what = k if isinstance(k, int) else "it"
    return f"probability {chances} that {what} is right, among {_tried(selection)}"


def _tried(selection: Selection) -> str:
    """Say what was tried: 1 to 8, or 2, 4 and 8, or 3 networks."""
    labels = [c.label for c in selection.candidates]
    numbers = [k for k in labels if isinstance(k, int)]
    if len(numbers) < len(labels):
        return f"{len(labels)} {selection.unit}"
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _rivals(certainty: Certainty) -> list[str]:
    """Write the other candidates that are worth a word."""
    p, errors = certainty.probabilities, certainty.stderr
    others = [k for k in certainty.ranking[1:] if p[k] >= WORTH_A_WORD]
    words = [f"{k}: {chance(p[k], errors[k]).split(' ±')[0]}" for k in others[:RIVALS]]
    return [*words, "others less"] if len(others) > RIVALS else words


def _labelled_words(selection: Selection) -> list[str]:
    """What all labellings together would say, where the score counts one."""
    if not _labelled(selection):
        return []
    chances = selection.posterior(labellings=Labellings.ALL)
    best = max(chances, key=lambda k: chances[k])
    return [f"counting all equal labellings, {best}: {probability(chances[best], exact=False)}"]


def _what(selection: Selection) -> str:
    k = selection.label
    if isinstance(k, int) and has_classes(selection.best.proposal.network):
        return selection.best.title
    if isinstance(k, int):
        (name,) = selection.best.proposal.sizes
        return f"{selection.best.title} of {name}"
    return str(k)


def _labelled(selection: Selection) -> bool:
    """Whether equal labellings can move the answer; all structures may have the same number."""
    alone = len(selection.candidates) == 1
    if alone or selection.score(selection.headline).every_labelling:
        return False
    numbers = {c.log_labellings for c in selection.candidates}
    return isinstance(selection.candidates[0].label, int) or len(numbers) > 1


def candidate_grid(selection: Selection) -> Grid:
    """One row per candidate: its size, its fit, and its probability."""
    certainty, both = selection.certainty, _labelled(selection)
    alone, best = len(selection.candidates) == 1, certainty.choice
    labelled = selection.posterior(labellings=Labellings.ALL)
    used = None if alone else selection.used
    first, words = first_column(selection)
    symbol = "S" if words else "k"
    rows = tuple(
        (
            str(c.label),
            str(c.dimension),
            number(c.fit.log_lik),
            chance(certainty.probabilities[c.label], certainty.stderr[c.label], exact=alone),
            *([probability(labelled[c.label], exact=alone)] if both else []),
            *([] if used is None else [share(used.get(int(c.label), 0.0))]),
            *([] if best is None else [factor_words(certainty.bayes_factor(c.label, best))]),
            f"{c.fit.reached}/{c.fit.finalists}",
            number(sum(c.seconds.values())),
        )
        for c in selection.candidates
    )
    rows += _dashes(selection, len(rows[0]))
    chances = [f"p({symbol})", *([f"p({symbol}), k!"] if both else [])]
    chances += [] if used is None else ["used"]
    factors = [] if best is None else ["log BF"]
    header = (first, "d", "log p(D|θ)", *chances, *factors, "starts", "seconds")
    ways = ", plain and with log k!" if both else ""
    with_score = f" and {selection.trusted.title}, widened"
    widened = with_score if certainty.how is How.UNSETTLED else ""
    notes = (
        f"p({symbol}): posterior by {TITLES[certainty.by]}{ways}{widened}{_under(selection)}.",
        *used_note(selection),
        *([] if best is None else [f"log BF: log Bayes factor against {best}, in nats."]),
        "starts: final starts that reached the best optimum.",
    )
    return Grid("Candidates", header, rows, words, notes)


def _under(selection: Selection) -> str:
    """Name the prior of the number of classes, where it has a name, and what was not tried."""
    prior = selection.named_prior
    words = "" if prior is None else f", prior {prior}"
    return f"{words}, among those that were tried" if selection.at_least else words


def _dashes(selection: Selection, width: int) -> tuple[tuple[str, ...], ...]:
    """A row of dashes for each candidate that could not be fitted: the reason is said above."""
    nothing = number(math.nan)
    return tuple((str(each.label), *[nothing] * (width - 1)) for each in selection.failed)


def factor_words(factor: Factor) -> Shown:
    """Write a log Bayes factor, with its error where that is known."""
    plain = number(factor.log)
    error = f" ± {factor.stderr:.2g}" if factor.stderr and math.isfinite(factor.log) else ""
    return Shown(f"{plain}{error}", factor.log)


def candidate_columns(selection: Selection) -> Columns:
    """One row per candidate, for a dataframe."""
    certainty, best = selection.certainty, selection.certainty.choice
    candidates, labels = selection.candidates, [c.label for c in selection.candidates]
    factors = [] if best is None else [certainty.bayes_factor(k, best).log for k in labels]
    return {
        tidy_name(selection): labels,
        "dimension": [c.dimension for c in candidates],
        "log_likelihood": [c.fit.log_lik for c in candidates],
        "probability": [certainty.probabilities[k] for k in labels],
        "probability_stderr": [certainty.stderr[k] for k in labels],
        **({"log_bayes_factor": factors} if factors else {}),
        **{s.name: list(selection.values(s.name).values()) for s in selection.scores},
    }


def score_grid(selection: Selection) -> Grid:
    """One row per candidate, one column per score; a star marks what each score chooses."""
    names = [s.name for s in selection.scores]
    values = {n: selection.values(n) for n in names}
    first, words = first_column(selection)
    rows = tuple(
        (
            str(c.label),
            *(starred(values[n][c.label], selection.chosen[n] == c.label) for n in names),
        )
        for c in selection.candidates
    )
    short = [f"{COLUMNS[n]}: {TITLES[n]}." for n in names if COLUMNS[n] != TITLES[n]]
    notes = (
        " ".join(["* the choice of each score.", *short]),
        *_sampled(selection),
        *_only_some(selection),
    )
    header = (first, *(COLUMNS[n] for n in names))
    return Grid("Scores: log marginal likelihoods in nats", header, rows, words, notes)


def first_column(selection: Selection) -> tuple[str, frozenset[int]]:
    """Head of the first column, and whether that is of words."""
    numbers = isinstance(selection.candidates[0].label, int)
    return (selection.unit, frozenset()) if numbers else ("network", frozenset({0}))


def tidy_name(selection: Selection) -> str:
    """Name of that column in a dataframe: the same, whatever the states are called."""
    return "states" if isinstance(selection.candidates[0].label, int) else "network"


def _sampled(selection: Selection) -> list[str]:
    """How sure the scores are that come from sampling."""
    lines = []
    for score in selection.scores:
        scores = [c.scores[score.name] for c in selection.candidates if score.name in c.scores]
        if known := [e.stderr for e in scores if e.stderr is not None]:
            lines.append(f"{COLUMNS[score.name]}: standard errors up to {max(known):.2g}.")
    return lines


def _only_some(selection: Selection) -> list[str]:
    """Scores that not every candidate has, so that they compare nothing: BD of one state."""
    common = [s.name for s in selection.scores]
    return [
        f"{TITLES[name]} of {c.title}: {number(e.value)}."
        for c in selection.candidates
        for name, e in c.scores.items()
        if name not in common
    ]


def starred(x: float, chosen: bool) -> Shown:
    """Write a number, with a star where it is the one that is chosen."""
    return Shown(f"*{number(x)}", x) if chosen else number(x)


def remarks(selection: Selection) -> list[str]:
    """Every flag of every candidate, in words."""
    lines = _said_once(selection)
    for c in selection.candidates:
        own = [flag for flag in c.flags if flag.kind not in ONCE]
        of_scores = (f"{TITLES[n]}: {flag}" for n, e in c.scores.items() for flag in e.flags)
        lines += [f"{c.title}: {text}" for text in (*own, *of_scores)]
    return lines


def _said_once(selection: Selection) -> list[str]:
    """Flags of what candidates can determine at all: each kind once, of all that it is about."""
    lines = []
    for kind in ONCE:
        about = [(c, flag) for c in selection.candidates for flag in c.flags if flag.kind is kind]
        if about:
            values = {name: [flag.detail[name] for _, flag in about] for name in about[0][1].detail}
            ends = {
                n: f"{v[0]}" if v[0] == v[-1] else f"{v[0]} to {v[-1]}" for n, v in values.items()
            }
            labels = tuple(c.label for c, _ in about)
            fits = Sizes(labels, "" if isinstance(labels[0], str) else selection.unit)
            lines.append(str(Flag(kind, detail=ends, fits=fits)))
    return lines


def selection_grids(selection: Selection) -> list[Grid]:
    """Everything, in the order in which a person wants it."""
    first = Grid(answer(selection), notes=tuple(limits(selection)))
    grids = [first, candidate_grid(selection), score_grid(selection)]
    if selection.ratio_tests:
        grids.append(ratio_grid(selection.ratio_tests, selection.unit))
    if (why := why_not_bic(selection)) is not None:
        grids.append(Grid(why.title, notes=why.sentences))
    if (calibrated := calibration_grid(selection)) is not None:
        grids.append(calibrated)
    if (beside := beside_classes(selection)) is not None:
        grids.append(beside)
    if flags := remarks(selection):
        grids.append(Grid("What to know", notes=tuple(f"- {flag}" for flag in flags)))
    if selection.label is not None:
        grids += model_grids(selection.best.fit.model)
    return grids
