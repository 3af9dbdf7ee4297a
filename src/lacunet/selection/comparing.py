"""Compare candidates for the same data: `compare` fits, scores, measures and ranks them.

Builders make the candidates: `latent_classes` and `sizes_of_hidden` here, levels of invariance in
`groups.py`, readings of missing values in `missing_comparison.py`, graphs with hidden variables in
`hidden_search.py`. Long ranges of numbers of hidden states end early, and open ones are extended.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from lacunet.data.table import Table
from lacunet.errors import LacunetError, ModelError, OptionError
from lacunet.fitting.fit import Fit, with_posterior
from lacunet.inference.classes import FAILURES
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.queries.most_probable import identified_parameters
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.latent_class import classes_of, over_leaves, with_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import Alpha, base_alpha, dirichlet, prior_grid
from lacunet.models.surgery import with_hidden
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import RECOMMENDED, Fitting, Score, applicable
from lacunet.scores.evaluation import ScoredFit, ScoreRequest, Unfitted, score_at, score_fits
from lacunet.selection.average import (
    ENOUGH,
    FIRST,
    FURTHER,
    Label,
    PriorLike,
    Reach,
    check_prior,
    understood_prior,
)
from lacunet.selection.candidates import Candidate, Failed, Proposal
from lacunet.selection.joint_evidence import NEGLIGIBLE, guesses, with_priors
from lacunet.selection.measuring import measured
from lacunet.selection.result import Selection
from lacunet.settings import DEFAULTS, Settings
from lacunet.wording import range_words

USUAL = NumberPrior()
SHORT = 24  # numbers that are always tried
FAR = 30.0  # nats below the best; e⁻³⁰ of its probability
LOOKED = 0.3  # share of the first look in the progress
FEWEST_ROWS = 10  # rows for each class of an extension: fewer do not separate classes
MOST_WORK = 1e8  # cells times classes of an extension at most: some minutes on one core


def fit_candidates(
    table: Table,
    proposals: Sequence[Proposal],
    settings: Settings,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> list[Candidate | Unfitted]:
    """Fit and score networks; one that cannot be fitted gives an `Unfitted` with the reason."""
    problems = executor.map(partial(_problem, table, settings.alpha), list(proposals))
    each = list(zip(proposals, problems, strict=True))
    options, rank, scores = settings.options, settings.rank, settings.chosen_scores
    requests = [
        ScoreRequest(Fitting(b, options, rank), tuple(applicable(scores, b)), p.title)
        for p, b in each
        if isinstance(b, Problem)
    ]
    scored = iter(score_fits(requests, executor, checkpoint))
    results = [(p, next(scored) if isinstance(b, Problem) else b) for p, b in each]
    return [_candidate(p, s) if isinstance(s, ScoredFit) else s for p, s in results]


def _problem(table: Table, alpha: Alpha, proposal: Proposal) -> Problem | Unfitted:
    exponents = alpha if proposal.alpha is None else proposal.alpha
    try:
        return build_problem(table, proposal.network, dirichlet(proposal.network, exponents))
    except FAILURES as error:
        return Unfitted(proposal.title, error)


def _candidate(proposal: Proposal, s: ScoredFit) -> Candidate:
    labellings = symmetries_of(s.fit.problem).log_count
    return Candidate(proposal, s.fit, s.dimension, s.evidence, labellings)


def candidate_at(
    proposal: Proposal, fit: Fit, scores: Sequence[Score], executor: Executor = SERIAL
) -> Candidate:
    """Score a fit, and add its posterior."""
    at = Fitting(fit.problem, fit.options).input_at(fit, executor)
    evidence = score_at(at, applicable(scores, fit.problem))
    fit = with_posterior(fit, at.at_estimate.softmax_climb.point)
    return _candidate(proposal, ScoredFit(fit, at.dimension, evidence))


def or_raise(result: Candidate | Unfitted) -> Candidate:
    """Return a candidate, or raise the error of one that could not be fitted."""
    if isinstance(result, Candidate):
        return result
    if isinstance(result.error, LacunetError):
        raise result.error
    raise ModelError(
        f"{result.title} could not be fitted: {result.reason}. Other options of the prior "
        "(--alpha, --number-prior), or columns in another unit, may help."
    ) from result.error


def evaluate(
    table: Table,
    candidates: Sequence[Proposal | Candidate],
    settings: Settings = DEFAULTS,
    prior: Mapping[Label, float] | None = None,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Fit and score every proposal; raises only if none can be fitted.

    Candidates that were fitted before stay as they are.
    """
    check_prior(prior, [c.label for c in candidates])
    proposals = [p for p in candidates if isinstance(p, Proposal)]
    fits = iter(
        fit_candidates(table, proposals, settings, executor, checkpoint) if proposals else []
    )
    results = [next(fits) if isinstance(c, Proposal) else c for c in candidates]
    fitted = tuple(c for c in results if isinstance(c, Candidate))
    if not fitted:
        results = list(map(or_raise, results))
    failed = tuple(
        Failed(p.label, p.title, each.reason)
        for p, each in zip(candidates, results, strict=True)
        if isinstance(each, Unfitted)
    )
    return Selection(table, fitted, settings.options, settings.alpha, prior, failed=failed)


def check_states(states: Sequence[int], table: Table) -> tuple[str, ...]:
    """Reject impossible numbers of states; warn of more states than rows."""
    if not states:
        raise OptionError(f"no number of states to try. Give for example {range_words(1, 8)}.")
    for k in states:
        if k < 1:
            raise OptionError(f"{k} hidden states: there must be at least 1.")
    many = f"{max(states)} hidden states are more than the {table.weight:g} rows of the data: "
    return (f"{many}some classes must stay empty.",) if max(states) > table.weight else ()


def latent_classes(
    table: Table,
    states: Sequence[int],
    numbers: NumberPrior = USUAL,
    edges: Sequence[tuple[str, str]] = (),
) -> list[Proposal]:
    """Latent class models of a table, one for each number of classes, ascending.

    With edges, items depend on each other given their class.
    """
    check_states(states, table)
    leaves = leaves_of(table, numbers)
    networks = {k: over_leaves(leaves, k) for k in sorted(set(states))}
    return [
        Proposal(k, with_edges(n, edges), {classes_of(n).variable.name: k})
        for k, n in networks.items()
    ]


def sizes_of_hidden(
    network: Network, sizes: Mapping[str, Sequence[int]], table: Table
) -> list[Proposal]:
    """The same network with every combination of sizes of some hidden variables.

    The label of one variable is its number of states; a label of several names them all.
    """
    for states in sizes.values():
        check_states(states, table)
    proposals = []
    for combination in itertools.product(*(sorted(set(states)) for states in sizes.values())):
        chosen = dict(zip(sizes, combination, strict=True))
        label: Label = ", ".join(f"{name}={k}" for name, k in chosen.items())
        if len(sizes) == 1:
            (label,) = combination
        proposals.append(Proposal(label, with_hidden(network, chosen), chosen))
    return proposals


def compare(
    table: Table,
    candidates: Sequence[Proposal | Candidate],
    settings: Settings,
    *,
    prior: PriorLike = None,
    sensitivity: bool = False,
    open_ended: bool = False,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Fit, score and measure candidates: the posterior over them.

    A long range of numbers of states ends early if the evidence keeps falling, unless candidates
    have weights or `settings.whole_range`. An open-ended range is tried up to its usual end, and
    further while more are probable; the result equals that of the whole range to its last number.

    `candidates` are networks to fit and score, or fitted ones; `prior` has weights by label, or is
    one on the number of classes. With `sensitivity`, other priors on parameters are tried too, and
    averaged over if `settings.alpha` is their average.
    """
    named = understood_prior(prior, [c.sizes for c in candidates])
    weights = prior if isinstance(prior, Mapping) else None
    if named is not None:
        weights = named.over({c.label: c.sizes.values() for c in candidates})
    grid = prior_grid(settings.alpha, candidates[0].network) if sensitivity else None
    settings = replace(settings, alpha=base_alpha(settings.alpha))
    reach, ends = None, [len(candidates)]
    if open_ended:
        ends = ends_worth(table, len(candidates))
    elif not (isinstance(prior, Mapping) or settings.whole_range):
        ends[0], reach = early_end(table, candidates, settings, executor, checkpoint)
    for last in ends:
        selection = evaluate(table, candidates[:last], settings, weights, executor, checkpoint)
        selection = replace(selection, named_prior=named, grid=grid, reach=reach)
        # More parameters than data of these columns can identify: no use in more classes.
        full = last < ends[-1] and identified_parameters(candidates[last - 1].network) is not None
        if last < ends[-1] and not full and _rising(selection):
            continue
        selection = with_priors(measured(selection, settings, executor, checkpoint), executor)
        if full or selection.more is None or selection.more <= ENOUGH:
            break
    return replace(selection, extended=open_ended and len(selection.candidates) > FIRST)


def early_end(
    table: Table,
    candidates: Sequence[Proposal | Candidate],
    settings: Settings,
    executor: Executor,
    checkpoint: Checkpoint,
) -> tuple[int, Reach | None]:
    """Find how many candidates to try; fewer than all where the evidence keeps falling."""
    proposals = [p for p in candidates if isinstance(p, Proposal) and isinstance(p.label, int)]
    number = len(candidates)
    if len(proposals) < number or number <= SHORT:
        return number, None
    seen: dict[int, float] = {}
    for place in spaced_places(number):
        before, k = list(seen)[-1:], int(proposals[place].label)
        seen[k] = _log_evidence(
            table, proposals[place], settings, executor.part(0.0, LOOKED), checkpoint
        )
        best = max(seen, key=lambda number: seen[number])
        for last in before:
            tried = sum(p.label in range(last + 1) for p in proposals)
            if tried >= SHORT and FAR < seen[best] - seen[last] < seen[best] - seen[k]:
                fall = seen[best] - seen[last]
                return tried, Reach(best, last, int(proposals[-1].label), fall)
    return number, None


def spaced_places(number: int) -> list[int]:
    """Return places of a range: powers of two, and the middle between each two of them.

    >>> [place + 1 for place in spaced_places(40)]
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40]
    """
    powers = [2**i for i in range(number.bit_length())]
    counts = {*powers, *(p + p // 2 for p in powers), number}
    return sorted(count - 1 for count in counts if count <= number)


def _log_evidence(
    table: Table, proposal: Proposal, settings: Settings, executor: Executor, checkpoint: Checkpoint
) -> float:
    """Log evidence by the recommended score; −inf if the network cannot be fitted."""
    settings = replace(settings, scores=RECOMMENDED[0].name)
    (candidate,) = fit_candidates(table, [proposal], settings, executor, checkpoint)
    if isinstance(candidate, Unfitted):  # the reason is reported with the full fits
        return -math.inf
    return candidate.scores[RECOMMENDED[0].name].value


def ends_worth(table: Table, most: int) -> list[int]:
    """Return the ends of the default range and of its extensions.

    An extension must not be too much work, and needs ten rows for each class. Where probabilities
    of items are near one half, one class per row makes the data as probable as one class does, and
    the range would not end.

    >>> from types import SimpleNamespace
    >>> sizes = (50, 500, 200_000)
    >>> tables = [SimpleNamespace(weight=n, distinct_rows=n, columns=range(10)) for n in sizes]
    >>> [ends_worth(table, 32) for table in tables]
    [[8], [8, 12, 16, 24, 32], [8, 12]]
    >>> ends_worth(tables[1], 10)
    [8, 10]
    """
    cells, ends = table.distinct_rows * len(table.columns), [min(FIRST, most)]
    for further in FURTHER:
        last = min(further, most)
        work = cells * sum(range(ends[-1] + 1, last + 1))
        if last == ends[-1] or work > MOST_WORK or table.weight < FEWEST_ROWS * last:
            break
        ends.append(last)
    return ends


def _rising(selection: Selection) -> bool:
    """Whether the last number is so far ahead by its score that more must be tried."""
    values = [v if math.isfinite(v) else -math.inf for v in guesses(selection).values()]
    return values[-1] > max(values[:-1], default=math.inf) + NEGLIGIBLE
