"""Fit and score candidates for the same data; end or extend ranges of numbers of hidden states."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.data.table import Table
from lacunet.errors import LacunetError, ModelError, OptionError
from lacunet.fitting.fit import Fit, Options, learn, with_posterior
from lacunet.inference.classes import FAILURES
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.queries.most_probable import identified_parameters
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.latent_class import classes_of, over_leaves, with_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import PAPER_ALPHA, Alpha, dirichlet
from lacunet.models.surgery import with_hidden
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import GROUPS, RECOMMENDED, Fitting, Score, applicable
from lacunet.scores.evaluation import ScoredFit, ScoreRequest, Unfitted, score_at, score_fits
from lacunet.selection.average import ENOUGH, FIRST, FURTHER, Label, Reach, check_prior
from lacunet.selection.candidates import Candidate, Failed, Proposal, Selection
from lacunet.selection.grids import STOP_AFTER
from lacunet.selection.joint_evidence import NEGLIGIBLE, guesses
from lacunet.summaries.ratio_tests import RatioTest, ratio_of_fits
from lacunet.wording import range_words

USUAL = NumberPrior()
SHORT = 24  # numbers that are always tried
FAR = 30.0  # nats below the best; e⁻³⁰ of its probability
LOOKED = 0.3  # share of the first look in the progress
FEWEST_ROWS = 10  # rows for each class of an extension: fewer do not separate classes
MOST_WORK = 1e8  # cells times classes of an extension at most: some minutes on one core


def fit_candidates(
    proposals: Sequence[Proposal],
    problems: Sequence[Problem | Unfitted],
    *,
    scores: Sequence[Score],
    options: Options,
    rank: bool = False,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> list[Candidate | Unfitted]:
    """Fit and score networks; one that cannot be fitted gives an `Unfitted` with the reason."""
    each = list(zip(proposals, problems, strict=True))
    requests = [
        ScoreRequest(Fitting(b, options, rank), tuple(applicable(scores, b)), p.title)
        for p, b in each
        if isinstance(b, Problem)
    ]
    scored = iter(score_fits(requests, executor, checkpoint))
    results = [(p, next(scored) if isinstance(b, Problem) else b) for p, b in each]
    return [_candidate(p, s) if isinstance(s, ScoredFit) else s for p, s in results]


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
    proposals: Sequence[Proposal],
    *,
    scores: Sequence[Score] = GROUPS["usual"],
    options: Options | None = None,
    alpha: Alpha = PAPER_ALPHA,
    prior: Mapping[Label, float] | None = None,
    rank: bool = False,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Fit and score every proposal; raises only if none can be fitted."""
    options = options or Options()
    check_prior(prior, [p.label for p in proposals])
    problems = executor.map(partial(_problem, table, alpha), list(proposals))
    results = fit_candidates(
        proposals,
        problems,
        scores=scores,
        options=options,
        rank=rank,
        executor=executor,
        checkpoint=checkpoint,
    )
    candidates = tuple(c for c in results if isinstance(c, Candidate))
    if not candidates:
        results = list(map(or_raise, results))
    failed = tuple(
        Failed(p.label, p.title, each.reason)
        for p, each in zip(proposals, results, strict=True)
        if isinstance(each, Unfitted)
    )
    return Selection(table, candidates, options, alpha, prior, failed=failed)


def _problem(table: Table, alpha: Alpha, proposal: Proposal) -> Problem | Unfitted:
    try:
        return build_problem(table, proposal.network, dirichlet(proposal.network, alpha))
    except FAILURES as error:
        return Unfitted(proposal.title, error)


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


@dataclass(frozen=True)
class Followed:
    """The proposals to try, and the early end of their range, if any."""

    proposals: tuple[Proposal, ...]
    reach: Reach | None = None


def follow(
    table: Table,
    proposals: Sequence[Proposal],
    options: Options,
    alpha: Alpha,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Followed:
    """End a long range of numbers of states early, if the evidence keeps falling."""
    numbers = [p.label for p in proposals if isinstance(p.label, int)]
    whole = Followed(tuple(proposals))
    if len(numbers) < len(proposals) or len(numbers) <= SHORT:
        return whole
    look = partial(_log_evidence, table, options, alpha, executor.part(0.0, LOOKED), checkpoint)
    seen: dict[int, float] = {}
    for place in spaced_places(len(numbers)):
        before, k = list(seen)[-1:], numbers[place]
        seen[k] = look(proposals[place])
        best = max(seen, key=lambda number: seen[number])
        for last in before:
            tried = tuple(p for p in proposals if p.label in range(last + 1))
            if len(tried) >= SHORT and FAR < seen[best] - seen[last] < seen[best] - seen[k]:
                return Followed(tried, Reach(best, last, numbers[-1], seen[best] - seen[last]))
    return whole


def spaced_places(number: int) -> list[int]:
    """Return places of a range: powers of two, and the middle between each two of them.

    >>> [place + 1 for place in spaced_places(40)]
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40]
    """
    powers = [2**i for i in range(number.bit_length())]
    counts = {*powers, *(p + p // 2 for p in powers), number}
    return sorted(count - 1 for count in counts if count <= number)


def _log_evidence(
    table: Table,
    options: Options,
    alpha: Alpha,
    executor: Executor,
    checkpoint: Checkpoint,
    proposal: Proposal,
) -> float:
    """Log evidence by the recommended score, over all labellings; −inf if it cannot be fitted."""
    problem = build_problem(table, proposal.network, dirichlet(proposal.network, alpha))
    score = applicable(RECOMMENDED, problem)[0]
    try:
        (result,) = fit_candidates(
            [proposal],
            [problem],
            scores=[score],
            options=options,
            executor=executor,
            checkpoint=checkpoint,
        )
        result = or_raise(result)
    except FAILURES:  # the reason is reported with the full fits
        return -math.inf
    value = result.scores[score.name].value
    return value if score.every_labelling else value + result.log_labellings


def lengthened(
    table: Table,
    proposals: Sequence[Proposal],
    fit: Callable[[Sequence[Proposal]], Selection],
    measure: Callable[[Selection], Selection],
) -> Selection:
    """Try the default range of numbers of classes, and extend it while more are probable.

    The result equals that of the whole range to its last number. If the last number is far ahead by
    its score, the range is extended before anything is measured. The range ends at the first number
    with more parameters than data of these columns can identify.
    """
    ends = ends_worth(table, len(proposals))
    for last in ends:
        selection = fit(proposals[:last])
        unidentified = identified_parameters(proposals[last - 1].network) is not None
        last_of_all = last == ends[-1] or unidentified
        if not last_of_all and _rising(selection):
            continue
        selection = measure(selection)
        if last_of_all or selection.more is None or selection.more <= ENOUGH:
            break
    return replace(selection, extended=len(selection.candidates) > FIRST)


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


def ratio_tests(
    table: Table,
    networks: Mapping[int, Network],
    tested: Sequence[int],
    options: Options,
    draws: int,
    executor: Executor,
    checkpoint: Checkpoint,
) -> dict[int, RatioTest]:
    """Bootstrap likelihood-ratio tests of k states against k − 1, if `networks` has both."""
    numbers = [k for k in tested if k - 1 in networks]
    fits: dict[int, Fit] = {}
    for k in sorted({n for pair in numbers for n in (pair - 1, pair)}):
        # ML fits do not use the prior.
        problem = build_problem(table, networks[k], dirichlet(networks[k], PAPER_ALPHA))
        quiet = executor.if_worth(problem.components.nanoseconds).silent()
        fits[k] = learn(problem, options, executor=quiet)
    tests = {}
    for i, k in enumerate(numbers):
        part = executor.part(i / len(numbers), (i + 1) / len(numbers), f"{k} against {k - 1}")
        tests[k] = ratio_of_fits(
            fits[k - 1], fits[k], draws, stop_after=STOP_AFTER, executor=part, checkpoint=checkpoint
        )
    return tests
