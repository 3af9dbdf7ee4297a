"""The posterior probability of every edge: an exact sum over graphs, or means over Markov chains.

The exact sum counts every graph once (Tian & He 2009). Standard errors of means come from split
chains and their pooled autocorrelations (Gelman et al., Bayesian Data Analysis, 2013, §11.4–5).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.flags import Flag, Kind
from lacunet.models.latent_class import LARGEST_TABLE
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import prior_of
from lacunet.structure.edges.certainty import EdgeCertainty, EdgesBy
from lacunet.structure.edges.completion import (
    CasesByColumn,
    GraphChain,
    advance,
    begin,
    known_families,
)
from lacunet.structure.edges.mcmc import MOST_CELLS, ParentSets, propose_sets
from lacunet.structure.families import GraphPrior, log_prior_over
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.moves import Limits
from lacunet.structure.searching import choice_of, score_sets

AGREED = 1.1  # R̂ up to which chains agree
DRAWS = 1000  # most graphs kept per chain, about
MOST_VARIABLES = 12  # of an exact sum: 3^n additions for each of n (n − 1) edges, 1–2 s
NOTHING = Knowledge()


class ChainMean(NamedTuple):
    """The mean over all chains."""

    value: float
    stderr: float
    r_hat: float  # √(variance over all chains / variance within one): 1 when they agree


def chain_mean(draws: FloatArray) -> ChainMean:
    """Compute the mean, standard error and split R̂ of draws (chains, 4 or more draws each).

    Each chain is split into halves, so that a drift within a chain increases R̂.
    """
    n = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :n], draws[:, -n:]])
    means = halves.mean(axis=1)
    within = float(halves.var(axis=1, ddof=1).mean())
    total = within * (n - 1) / n + float(means.var(ddof=1))
    if total == 0.0:  # all draws are equal
        return ChainMean(float(means[0]), 0.0, 1.0)
    centred = halves - means[:, None]
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2  # zero padding avoids wrap-around
    autocovariances = np.fft.irfft(power.mean(axis=0))[:n] / (n - 1)
    correlations = 1.0 - (within - autocovariances) / total
    # Autocorrelation time 1 + 2 Σ ρ_t: sums of adjacent pairs must be positive and decrease (Geyer
    # 1992); the rest is noise.
    pairs = correlations[1:]
    pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    positive_pairs = pairs[: negative[0]] if len(negative) else pairs
    time = max(1.0, 1.0 + 2.0 * float(np.minimum.accumulate(positive_pairs).sum()))
    r_hat = math.sqrt(total / within) if within > 0 else math.inf
    return ChainMean(float(means.mean()), math.sqrt(total * time / halves.size), r_hat)


@dataclass(frozen=True)
class EdgeSampling:
    """Options of edge sampling."""

    target: float = 0.02  # standard error of every probability
    chains: int = 4
    sweeps: int = 500  # in the first round
    rounds: int = 6  # at most; each doubles the number of sweeps
    seed: int = 0
    prior: GraphPrior = GraphPrior.UNIFORM  # over graphs


class EdgeShares(NamedTuple):
    """Means of indicators over all chains."""

    mean: FloatArray  # (n, n)
    stderr: FloatArray  # (n, n)
    r_hat: FloatArray  # (n, n) 1 where chains agree


def sample_edges(
    names: Sequence[str],
    cases: CasesByColumn,
    limits: Limits,
    sampling: EdgeSampling,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Sample graphs from the posterior over all allowed graphs."""
    steps = sampling.rounds + 1
    parts = [executor.part(k / steps, (k + 1) / steps) for k in range(steps)]
    starts = [(sampling.seed, c) for c in range(sampling.chains)]
    start = partial(begin, cases, limits)
    chains = parts[0].count(start, starts, "cooled chain", 0, sampling.chains)
    # All chains share the parent sets that reversals propose.
    graphs = np.array([chain.walker.graph.parents for chain in chains])
    joined = (graphs | graphs.swapaxes(1, 2)).mean(axis=0)
    choices = propose_sets(joined, chains[0].cache, limits)
    chains, drawn = _round(chains, choices, sampling.sweeps, 1, parts[1])
    sweeps, thin = sampling.sweeps, 1
    for k in range(sampling.rounds):
        second_half = drawn[:, drawn.shape[1] // 2 :]
        arrows, edges = shares(second_half), shares(second_half | second_half.swapaxes(2, 3))
        worst = max(float(arrows.stderr.max()), float(edges.stderr.max()))
        if k == sampling.rounds - 1 or worst <= sampling.target:
            break
        if drawn.shape[1] >= DRAWS:
            thin, drawn = 2 * thin, drawn[:, 1::2]
        chains, more = _round(chains, choices, sweeps, thin, parts[k + 2])
        drawn = np.concatenate([drawn, more], axis=1)
        sweeps *= 2
    # R̂ is reported for edges whose standard error misses the target.
    both = (arrows, edges)
    apart = max(float(x.r_hat[x.stderr > sampling.target].max(initial=1.0)) for x in both)
    disagree = Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": apart})
    return EdgeCertainty(
        tuple(names),
        arrows.mean,
        arrows.stderr,
        edges.stderr,
        EdgesBy.SAMPLED,
        second_half.shape[0] * second_half.shape[1],
        sampling.chains,
        (disagree,) if apart > AGREED else (),
    )


def shares(drawn: BoolArray) -> EdgeShares:
    """Average over chains, (chains, draws, n, n), with the standard error of each entry.

    Entries that are constant over all draws get the standard error 1 / (smallest effective sample
    size of the other entries).
    """
    drawn = drawn[:, drawn.shape[1] % 2 :]  # chains are split into halves
    n = drawn.shape[2]
    mean, stderr, r_hat = drawn.mean(axis=(0, 1)), np.zeros((n, n)), np.ones((n, n))
    fewest = float(drawn[..., 0, 0].size)
    for v, u in zip(*np.nonzero((mean > 0) & (mean < 1)), strict=True):
        entry = chain_mean(drawn[:, :, v, u].astype(np.float64))
        stderr[v, u], r_hat[v, u] = entry.stderr, entry.r_hat
        fewest = min(fewest, mean[v, u] * (1 - mean[v, u]) / entry.stderr**2)
    floor = np.where(np.eye(n, dtype=bool), 0.0, 1.0 / max(fewest, 1.0))
    return EdgeShares(mean, np.maximum(stderr, floor), r_hat)


def _round(
    chains: Sequence[GraphChain], choices: ParentSets, sweeps: int, thin: int, executor: Executor
) -> tuple[list[GraphChain], BoolArray]:
    """Advance all chains; return them, and their graphs, (chains, draws, n, n)."""
    advance_one = partial(advance, choices=choices, sweeps=sweeps, thin=thin)
    title = f"{sweeps:,} sweeps of chain"
    advanced = executor.count(advance_one, chains, title, 0, len(chains))
    return [chain for chain, _ in advanced], np.stack([drawn for _, drawn in advanced])


class SignedSums(NamedTuple):
    """Sums of signed terms, one for each set of variables."""

    top: FloatArray  # (2^n,) log of the largest term
    rest: FloatArray  # (2^n,) the sum, divided by it


def edge_probabilities(cases: CasesByColumn, limits: Limits) -> FloatArray:
    """Compute p(u → v | D) at [v, u], (n, n), over all allowed graphs."""
    n = len(cases.cards)
    scores = score_all_families(cases, limits)
    sums = np.stack([_over_subsets(x) for x in scores])
    log_all = log_sum_of_graphs(sums)
    P = np.zeros((n, n))
    sets = np.arange(1 << n)
    for v in range(n):
        for u in range(n):
            if u != v and limits.allowed[v, u]:
                with_edge = sums.copy()
                with_edge[v] = _over_subsets(np.where(sets >> u & 1, scores[v], -np.inf))
                P[v, u] = np.exp(log_sum_of_graphs(with_edge) - log_all)
    return P


def score_all_families(cases: CasesByColumn, limits: Limits) -> FloatArray:
    """Score every variable with every set of parents, (n, 2^n); −inf: not allowed."""
    n, columns = len(cases.cards), cases.columns(cases.codes)
    sets, scores = np.arange(1 << n), np.full((n, 1 << n), -np.inf)
    cards = cases.cards.astype(np.float64)
    for v in range(n):
        choice = choice_of(limits, v, cards, LARGEST_TABLE, cases.log_prior[v])
        without = sets[sets >> v & 1 == 0]  # in the order of sets of the others
        scores[v, without] = score_sets(columns, v, choice, cases.prior)
    return scores


def _over_subsets(log: FloatArray) -> FloatArray:
    """Log of the sum over all subsets of each set, (2^n,)."""
    total, n = log.copy(), len(log).bit_length() - 1
    for b in range(n):
        halves = total.reshape(-1, 2, 1 << b)  # a view: sets without b, and with it
        halves[:, 1] = np.logaddexp(halves[:, 0], halves[:, 1])
    return total


@kernel
def log_sum_of_graphs(sums: FloatArray) -> float:
    """Log Σ over graphs of Π exp(score); `sums[v, S]` is the log sum over parents of v within S."""
    n = sums.shape[0]
    everything = (1 << n) - 1
    total = SignedSums(np.full(1 << n, -np.inf), np.zeros(1 << n))
    total.top[0], total.rest[0] = 0.0, 1.0
    chosen = np.zeros(1 << n)  # log weight of a set of sources with parents in `below`
    for below in range(1 << n):
        # This sum is complete, because subsets are smaller numbers.
        if not total.rest[below] > 0.0:
            continue
        log_below = total.top[below] + np.log(total.rest[below])
        others = everything ^ below
        sources = 0
        while sources != others:
            sources = (sources - others) & others  # the next subset of the others
            lowest = sources & -sources
            v = 0
            while lowest >> v != 1:
                v += 1
            chosen[sources] = chosen[sources ^ lowest] + sums[v, below]
            odd, bits = False, sources
            while bits:
                bits &= bits - 1
                odd = not odd
            _add(total, below | sources, log_below + chosen[sources], 1.0 if odd else -1.0)
    return float(total.top[everything] + np.log(max(total.rest[everything], 0.0)))


@kernel
def _add(total: SignedSums, at: int, log: float, sign: float) -> None:
    """Add a term given by its log."""
    if log == -np.inf:
        return
    if log > total.top[at]:
        total.rest[at] = total.rest[at] * np.exp(total.top[at] - log) + sign
        total.top[at] = log
    else:
        total.rest[at] += sign * np.exp(log - total.top[at])


def find_edges(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge,
    sampling: EdgeSampling,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Compute p(edge | D) over all graphs that satisfy the constraints."""
    names = [column.name for column in table.columns]
    limits = knowledge.limits(names)
    cases = as_cases(table, alpha, knowledge, sampling.prior)
    for v, required in enumerate(limits.required):
        size = math.prod(int(r) for r in (cases.cards[v], *cases.cards[required]))
        if size > MOST_CELLS:
            raise OptionError(
                f"the required parents of '{names[v]}' give it a table of {size:,} numbers; at "
                f"most {MOST_CELLS:,} are allowed here. Require fewer."
            )
    if table.complete and len(names) <= MOST_VARIABLES:
        arrows = edge_probabilities(cases, limits)
        exact = np.zeros_like(arrows)
        return EdgeCertainty(tuple(names), arrows, exact, exact, EdgesBy.EXACT)
    return sample_edges(names, cases, limits, sampling, executor)


def check_cases(table: Table) -> None:
    """Refuse rows with missing values whose weight is not a whole number."""
    often = table.counts[(table.codes < 0).any(axis=1)]
    if (often != np.round(often)).any():
        weight = often[often != np.round(often)][0]
        raise DataError(
            f"a row with missing cells weighs {weight:g}: cells of whole cases are filled in, so "
            "such weights must be whole numbers. --method bootstrap takes any, and so does a "
            "search for one graph."
        )


def as_cases(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge = NOTHING,
    prior: GraphPrior = GraphPrior.UNIFORM,
) -> CasesByColumn:
    """Arrange a table by columns; each case with a missing value becomes a separate row."""
    check_cases(table)
    whole = (table.codes >= 0).all(axis=1)
    often = table.counts[~whole]
    codes = np.concatenate(
        [table.codes[whole], np.repeat(table.codes[~whole], often.astype(np.int64), axis=0)]
    )
    counts = np.concatenate([table.counts[whole], np.ones(len(codes) - int(whole.sum()))])
    cards = np.array([len(column.states) for column in table.columns])
    columns = np.ascontiguousarray(codes.T, dtype=np.int64)
    known = known_families(table.columns, knowledge)
    exponents, log_prior = prior_of(alpha), log_prior_over(table, prior)
    return CasesByColumn(columns, counts, cards, exponents, known, log_prior)
