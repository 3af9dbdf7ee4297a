"""A selection in sentences: the answer, its limits, and why BIC chooses otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunet.fitting.diagnose import state_sizes
from lacunet.flags import Kind
from lacunet.models.latent_class import find_classes, has_classes
from lacunet.selection.average import ENOUGH, FIRST, Labellings
from lacunet.selection.certainty import Certainty
from lacunet.tabular import chance, probability
from lacunet.wording import range_words

if TYPE_CHECKING:
    from lacunet.selection.candidates import Candidate
    from lacunet.selection.result import Selection

RIVALS = 3  # other candidates that the answer names at most
WORTH_A_WORD = 0.005  # probability of a candidate, or of a number of used classes, that is named
NAMED = 4  # numbers of used classes that are named at most
EDGE = 0.01  # a probability this near to 0 or 1 is at the edge
ONCE = (Kind.TOO_MANY_PARAMETERS, Kind.FEW_DISTINCT_ROWS)
FACTORS = {0.25: "a quarter of", 0.5: "half", 2.0: "twice", 4.0: "four times"}
WHAT = {
    "strength": "the prior strength",
    "scale": "the variances that classes are expected to have",
}


def answer(selection: Selection) -> str:
    """Return the answer in one sentence."""
    certainty = selection.certainty
    if certainty.choice is None:
        return "No score has a value for any candidate: nothing can be chosen."
    what = _what(selection)
    if len(selection.candidates) == 1:
        return f"{what} (the only candidate)."
    if selection.at_least:
        return f"At least {what} ({_largest(selection)}), {certainty.basis}."
    if cannot_tell(selection):
        return f"{what} (its probability is unknown: the search is unstable)."
    k = certainty.choice
    p, it = (
        chance(certainty.probabilities[k], certainty.stderr[k]),
        k if isinstance(k, int) else "it",
    )
    chances = [f"probability {p} that {it} is right, among {_tried(selection)}"]
    chances += _rivals(certainty)
    if selection.more is not None and selection.more > ENOUGH:
        chances.append(f"more than {_most(selection)}, not tried: up to about {selection.more:.2f}")
    if labellings_matter(selection):
        every = selection.posterior(labellings=Labellings.ALL)
        best = max(every, key=lambda k: every[k])
        words = probability(every[best], exact=False)
        chances.append(f"counting all equal labellings, {best}: {words}")
    return f"{what} ({'; '.join(chances)}), {certainty.basis}."


def cannot_tell(selection: Selection) -> bool:
    """Whether the probability is unknown, because the search for the answer is unstable.

    A better fit may exist, so any probability would be overconfident.
    """
    unstable = any(flag.kind is Kind.UNSTABLE_SEARCHES for flag in selection.certainty.notes)
    return unstable and not selection.best.fit.for_scores.stable


def labellings_matter(selection: Selection) -> bool:
    """Whether equal labellings can change the answer; all structures may have the same number."""
    alone = len(selection.candidates) == 1
    if alone or selection.score(selection.headline).every_labelling:
        return False
    numbers = {c.log_labellings for c in selection.candidates}
    return isinstance(selection.candidates[0].label, int) or len(numbers) > 1


def _most(selection: Selection) -> int:
    return max(c.label for c in selection.candidates if isinstance(c.label, int))


def _largest(selection: Selection) -> str:
    """Describe an answer that is the largest number tried, so that more may be right."""
    if isinstance(selection.label, str):
        are = "is" if len(selection.at_edge) == 1 else "are"
        return f"{' and '.join(selection.at_edge)} {are} at the largest number that was tried"
    certainty, k = selection.certainty, selection.best.label
    most = f"{_most(selection)} is the most that was tried, and more may be right"
    if cannot_tell(selection):
        return f"{most}; its probability is unknown: the search is unstable"
    others = _rivals(certainty)
    p = chance(certainty.probabilities[k], certainty.stderr[k])
    among = [f"among {_tried(selection)}, {k}: {p}", *others] if others else []
    return "; ".join([most, *among])


def _tried(selection: Selection) -> str:
    """Describe the candidates: 1 to 8, or 2, 4 and 8, or 3 networks."""
    labels = [c.label for c in selection.candidates]
    numbers = [k for k in labels if isinstance(k, int)]
    if len(numbers) < len(labels):
        return f"{len(labels)} {selection.unit}"
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _rivals(certainty: Certainty) -> list[str]:
    """Describe the most probable other candidates."""
    p, errors = certainty.probabilities, certainty.stderr
    others = [k for k in certainty.ranking[1:] if p[k] >= WORTH_A_WORD]
    words = [f"{k}: {chance(p[k], errors[k]).split(' ±')[0]}" for k in others[:RIVALS]]
    return [*words, "others less"] if len(others) > RIVALS else words


def _what(selection: Selection) -> str:
    k = selection.label
    if not isinstance(k, int):
        return str(k)
    if has_classes(selection.best.proposal.network):
        return selection.best.title
    (name,) = selection.best.proposal.sizes
    return f"{selection.best.title} of {name}"


def limits(selection: Selection) -> list[str]:
    """Return sentences on the limits of the answer."""
    survey, misfit, ends = selection.table.survey, selection.misfit, at_the_end(selection)
    if selection.label is not None:
        about = [flag for flag in selection.best.flags if flag.kind in ONCE]
        ends += [f"{selection.best.title}: {flag}" for flag in about]
    apart = ""
    if misfit is not None and misfit.chosen == selection.label:
        apart = misfit.warning(selection.best.title)
    sentences = [
        *(f"warning: {text}" for text in _sensitivity(selection, differ=True)),
        *([f"warning: {apart}"] if apart else []),
        *_used(selection),
        *(f"warning: not fitted, and left out: {each}" for each in selection.failed),
        *(f"warning: {end}" for end in ends),
        *([_followed(selection)] if selection.extended else []),
        *_sensitivity(selection, differ=False),
        *([] if selection.reach is None else [str(selection.reach)]),
        *map(str, selection.certainty.notes),
        *([] if survey is None else [f"rows have {survey}"]),
    ]
    return [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences]


def at_the_end(selection: Selection) -> list[str]:
    """Warn if better answers may lie beyond the range, and name a range to try."""
    k, labels = selection.label, [c.label for c in selection.candidates]
    known = [n for n in labels if isinstance(n, int)]
    if isinstance(k, str) and selection.at_edge:
        sizes = selection.best.proposal.sizes
        edge = " and ".join(f"{sizes[name]} of {name}" for name in selection.at_edge)
        most = max(n for c in selection.candidates for n in c.proposal.sizes.values())
        wider = range_words(1, 2 * most)
        return [f"{edge} is the largest number that was tried. Try more: {wider}"]
    if not isinstance(k, int) or len(known) < 2:
        return []
    few, many = min(known), max(known)
    wider = f". Try more: {range_words(few, 2 * many)}"
    if many in selection.unidentified:
        wider = ", and these columns cannot identify even so many"
    if k == many:
        return [f"{k} is the largest number that was tried{wider}"]
    if selection.more is not None and selection.more > ENOUGH:
        return [f"more than {many} were not tried{wider}"]
    if k == few and k > 1:
        fewer = range_words(1, many)
        return [f"{k} is the smallest number that was tried. Try fewer: {fewer}"]
    return []


def _sensitivity(selection: Selection, *, differ: bool) -> list[str]:
    """Describe the answers under other priors: those that differ from the answer, or the others."""
    sentences = []
    for what, title in WHAT.items():
        shifted = [s for s in selection.sensitivity if s.what == what]
        if len(selection.candidates) < 2 or not shifted or selection.label is None:
            continue
        factors = " and ".join(FACTORS.get(s.factor, f"{s.factor:g} times") for s in shifted)
        answers = ", ".join(
            f"{s.choice} ({probability(s.probabilities[s.choice], exact=False)})" for s in shifted
        )
        if differ == any(s.choice != selection.label for s in shifted):
            depends = "the answer depends on the prior: " if differ else ""
            sentences.append(f"{depends}with {factors} {title}: {answers}")
    return sentences


def _followed(selection: Selection) -> str:
    """Describe the extension of the default range, and why it ended."""
    first, most = f"more than {FIRST} {selection.unit} were probable", _most(selection)
    more = selection.more or 0.0
    if more > ENOUGH:
        return f"{first}, so that up to {most} were tried; without a range of yours no more are"
    p = probability(more, exact=False)
    return f"{first}, so that up to {most} were tried: more than these have the probability {p}"


def _used(selection: Selection) -> list[str]:
    """Describe the posterior of the number of occupied classes."""
    if selection.used is None:
        return []
    shares = sorted(selection.used.items(), key=lambda share: -share[1])
    worth = [(m, p) for n, (m, p) in enumerate(shares) if n == 0 or p >= WORTH_A_WORD]
    words = ", ".join(f"{m} ({chance(p, None)})" for m, p in worth[:NAMED])
    return [f"classes with at least one case: {words}"]


@dataclass(frozen=True)
class OtherChoice:
    """The choice of BIC and its reasons, in words and in numbers."""

    title: str
    sentences: tuple[str, ...]
    gain: float  # nats: difference of log-likelihood, the larger model minus the smaller
    charged: float  # nats: penalty of BIC for the additional parameters
    cost: float  # nats: penalty of the evidence for them


def why_not_bic(selection: Selection) -> OtherChoice | None:
    """Explain why BIC chooses another candidate; None if it does not, or nothing is chosen."""
    if selection.label is None or len(selection.candidates) < 2:
        return None
    other = max(selection.candidates, key=lambda c: c.fit.log_lik - _bic_charge(c))
    best = selection.best
    if other.label == best.label:
        return None
    small, large = sorted((best, other), key=lambda c: c.dimension)
    factor = selection.bayes_factor(large.label, small.label).log
    more = large.dimension - small.dimension
    if not (more > 0 and math.isfinite(factor)):
        return None
    gain = large.fit.log_lik - small.fit.log_lik
    charged, cost = _bic_charge(large) - _bic_charge(small), gain - factor
    ways, numbered = "", large.log_labellings - small.log_labellings
    if numbered > 0 and selection.score(selection.headline).every_labelling:
        ways = f" {numbered:.1f} nats are subtracted, because {large.title} have more labellings."
    cases = large.problem.cases
    why = _why(large, cost < charged)
    sentences = (
        f"{large.title} fit {gain:.1f} nats better than {small.title}, by {more} more parameters.",
        f"BIC takes {charged:.1f} nats for them, ½ log {cases:,.6g} each, for all cases.",
        f"The evidence, an average over the parameters, takes {cost:.1f} nats.{why}{ways}",
    )
    says = "the evidence" if selection.certainty.reliable else "the answer above"
    title = f"Why BIC says {other.label}, and {says} {best.label}"
    return OtherChoice(title, sentences, gain, charged, cost)


def _bic_charge(candidate: Candidate) -> float:
    return 0.5 * candidate.dimension * math.log(candidate.problem.cases)


def _why(large: Candidate, cheap: bool) -> str:
    """Describe why the parameters of a candidate cost less, or more, than the penalty of BIC."""
    model, point = large.fit.model, large.fit.point
    if (classes := find_classes(model.network)) is None:
        return ""
    layout = model.network.layout
    smallest = float(state_sizes(layout, point.N, classes.root).min())
    if not cheap:
        return (
            f" That is more, because a class with few cases (the smallest has {smallest:.1f}) "
            "does not determine its probabilities, and most of their values fit badly."
        )
    theta = model.theta[layout.in_simplex & layout.learned]
    edge = int(np.sum((theta < EDGE) | (theta > 1 - EDGE)))
    edges = f", and {edge} of {theta.size} probabilities are at 0 or 1" if edge else ""
    return (
        " That is less, because only the cases of a class inform its parameters: the smallest has "
        f"{smallest:.1f}{edges}."
    )
