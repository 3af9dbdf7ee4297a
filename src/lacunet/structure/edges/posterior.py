"""The posterior probability of every edge: summed over all graphs, or sampled by chains.

The exact sum counts every graph once (Tian & He 2009). Means of chains have error bars from split
chains and their common autocorrelations (Gelman et al., Bayesian Data Analysis, 2013, §11.4–5).
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
DRAWS = 1000  # graphs of a chain that are kept, at most
MOST_VARIABLES = 12  # of an exact sum, 3^n additions for each of n (n − 1) edges: a second or two
NOTHING = Knowledge()


class ChainMean(NamedTuple):
    """The mean over all chains."""

    value: float
    stderr: float
    r_hat: float  # √(variance over all chains / variance within one): 1 when they agree


def chain_mean(draws: FloatArray) -> ChainMean:
    """Give the mean of draws (chains, 4 or more draws each), and how far to trust it.

    Each chain is cut into halves: a chain that still drifts disagrees with itself.
    """
    n = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :n], draws[:, -n:]])
    means = halves.mean(axis=1)
    within = float(halves.var(axis=1, ddof=1).mean())
    total = within * (n - 1) / n + float(means.var(ddof=1))
    if total == 0.0:  # nothing moves: there is nothing to estimate
        return ChainMean(float(means[0]), 0.0, 1.0)
    centred = halves - means[:, None]
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2  # twice as long: ends must not meet
    autocovariances = np.fft.irfft(power.mean(axis=0))[:n] / (n - 1)
    correlations = 1.0 - (within - autocovariances) / total
    # Draws that are worth one independent draw, 1 + 2 Σ ρ_t: sums of neighbouring pairs must be
    # positive and fall (Geyer 1992); what comes after is noise.
    pairs = correlations[1:]
    pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    time = max(1.0, 1.0 + 2.0 * float(np.minimum.accumulate(kept).sum()))
    r_hat = math.sqrt(total / within) if within > 0 else math.inf
    return ChainMean(float(means.mean()), math.sqrt(total * time / halves.size), r_hat)


@dataclass(frozen=True)
class EdgeSampling:
    """How to sample."""

    target: float = 0.02  # standard error of every probability
    chains: int = 4
    sweeps: int = 500  # of the first round
    rounds: int = 6  # at most; each doubles what was done
    seed: int = 0
    prior: GraphPrior = GraphPrior.UNIFORM  # over graphs


class EdgeShares(NamedTuple):
    """How often something was so, over all chains."""

    mean: FloatArray  # (n, n)
    stderr: FloatArray  # (n, n)
    r_hat: FloatArray  # (n, n) 1 where chains agree


def sample_edges(
    names: Sequence[str],
    cases: CasesByColumn,
    limits: Limits,
    how: EdgeSampling,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Draw graphs from their posterior, of all that the limits allow."""
    steps = how.rounds + 1
    parts = [executor.part(k / steps, (k + 1) / steps) for k in range(steps)]
    starts = [(how.seed, c) for c in range(how.chains)]
    start = partial(begin, cases, limits)
    chains = parts[0].count(start, starts, "cooled chain", 0, how.chains)
    # Reversals propose what the chains found so far: the same for all of them.
    graphs = np.array([chain.walker.graph.parents for chain in chains])
    joined = (graphs | graphs.swapaxes(1, 2)).mean(axis=0)
    choices = propose_sets(joined, chains[0].cache, limits)
    chains, drawn = _round(chains, choices, how.sweeps, 1, parts[1])
    sweeps, thin = how.sweeps, 1
    for k in range(how.rounds):
        kept = drawn[:, drawn.shape[1] // 2 :]
        arrows, edges = shares(kept), shares(kept | kept.swapaxes(2, 3))
        worst = max(float(arrows.stderr.max()), float(edges.stderr.max()))
        if k == how.rounds - 1 or worst <= how.target:
            break
        if drawn.shape[1] >= DRAWS:
            thin, drawn = 2 * thin, drawn[:, 1::2]
        chains, more = _round(chains, choices, sweeps, thin, parts[k + 2])
        drawn = np.concatenate([drawn, more], axis=1)
        sweeps *= 2
    # Chains that disagree are reported where they do about what is not known well enough.
    both = (arrows, edges)
    apart = max(float(x.r_hat[x.stderr > how.target].max(initial=1.0)) for x in both)
    disagree = Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": apart})
    return EdgeCertainty(
        tuple(names),
        arrows.mean,
        arrows.stderr,
        edges.stderr,
        EdgesBy.SAMPLED,
        kept.shape[0] * kept.shape[1],
        how.chains,
        (disagree,) if apart > AGREED else (),
    )


def shares(drawn: BoolArray) -> EdgeShares:
    """Average over chains, (chains, draws, n, n), each entry with its error.

    What no graph has, or every graph, was so in as many draws as are worth independent ones for the
    entry that moves most slowly: that is how small its error can be.
    """
    drawn = drawn[:, drawn.shape[1] % 2 :]  # chains are cut into halves
    n = drawn.shape[2]
    mean, stderr, r_hat = drawn.mean(axis=(0, 1)), np.zeros((n, n)), np.ones((n, n))
    fewest = float(drawn[..., 0, 0].size)
    for v, u in zip(*np.nonzero((mean > 0) & (mean < 1)), strict=True):
        found = chain_mean(drawn[:, :, v, u].astype(np.float64))
        stderr[v, u], r_hat[v, u] = found.stderr, found.r_hat
        fewest = min(fewest, mean[v, u] * (1 - mean[v, u]) / found.stderr**2)
    floor = np.where(np.eye(n, dtype=bool), 0.0, 1.0 / max(fewest, 1.0))
    return EdgeShares(mean, np.maximum(stderr, floor), r_hat)


def _round(
    chains: Sequence[GraphChain], choices: ParentSets, sweeps: int, thin: int, executor: Executor
) -> tuple[list[GraphChain], BoolArray]:
    """Let all chains go on; give them, and their graphs, (chains, draws, n, n)."""
    go_on = partial(advance, choices=choices, sweeps=sweeps, thin=thin)
    title = f"{sweeps:,} sweeps of chain"
    done = executor.count(go_on, chains, title, 0, len(chains))
    return [chain for chain, _ in done], np.stack([drawn for _, drawn in done])


class SignedSums(NamedTuple):
    """Sums of terms with signs, one for each set of variables."""

    top: FloatArray  # (2^n,) log of the largest term
    rest: FloatArray  # (2^n,) the sum, divided by it


def edge_probabilities(cases: CasesByColumn, limits: Limits) -> FloatArray:
    """p(u → v | D) at [v, u], (n, n), over all graphs that the limits allow."""
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
    """Score every variable with every set of parents, (n, 2^n); −inf if it is not allowed."""
    n, columns = len(cases.cards), cases.columns(cases.codes)
    sets, scores = np.arange(1 << n), np.full((n, 1 << n), -np.inf)
    cards = cases.cards.astype(np.float64)
    for v in range(n):
        choice = choice_of(limits, v, cards, LARGEST_TABLE, cases.log_prior[v])
        without = sets[sets >> v & 1 == 0]  # in their order, as sets of the others are numbered
        scores[v, without] = score_sets(columns, v, choice, cases.prior)
    return scores


def _over_subsets(log: FloatArray) -> FloatArray:
    """Log Σ over all subsets of each set, (2^n,)."""
    total, n = log.copy(), len(log).bit_length() - 1
    for b in range(n):
        halves = total.reshape(-1, 2, 1 << b)  # a view: sets without b, and with it
        halves[:, 1] = np.logaddexp(halves[:, 0], halves[:, 1])
    return total


@kernel
def log_sum_of_graphs(sums: FloatArray) -> float:
    """Log Σ over all graphs of Π exp(score); `sums[v, S]` is that over parents of v within S."""
    n = sums.shape[0]
    everything = (1 << n) - 1
    found = SignedSums(np.full(1 << n, -np.inf), np.zeros(1 << n))
    found.top[0], found.rest[0] = 0.0, 1.0
    chosen = np.zeros(1 << n)  # log weight of a set of sources with parents in `below`
    for below in range(1 << n):
        # All that adds to this set has been added: its subsets are smaller numbers.
        if not found.rest[below] > 0.0:
            continue
        log_below = found.top[below] + np.log(found.rest[below])
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
            _add(found, below | sources, log_below + chosen[sources], 1.0 if odd else -1.0)
    return float(found.top[everything] + np.log(max(found.rest[everything], 0.0)))


@kernel
def _add(found: SignedSums, at: int, log: float, sign: float) -> None:
    """Add a term, given by its log."""
    if log == -np.inf:
        return
    if log > found.top[at]:
        found.rest[at] = found.rest[at] * np.exp(found.top[at] - log) + sign
        found.top[at] = log
    else:
        found.rest[at] += sign * np.exp(log - found.top[at])


def find_edges(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge,
    how: EdgeSampling,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Give p(edge | D), over all graphs that keep to what is known."""
    names = [column.name for column in table.columns]
    limits = knowledge.limits(names)
    cases = as_cases(table, alpha, knowledge, how.prior)
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
    return sample_edges(names, cases, limits, how, executor)


def check_cases(table: Table) -> None:
    """Refuse rows with missing cells that are no whole number of cases."""
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
    """Give a table in columns; each case with a missing cell is a row of its own."""
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
