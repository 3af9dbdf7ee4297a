"""Probabilities of edges from chains that start apart: how long they go on, and whether they agree.

Chains go on until every probability has the standard error that is wanted and they agree, each
round as long as all rounds before; the first half of what they did never counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.edges.candidates import propose_sets
from lacunet.structure.edges.certainty import EdgeCertainty, EdgesBy
from lacunet.structure.edges.chain_mean import chain_mean
from lacunet.structure.edges.chains import Cases, Chain, advance, begin
from lacunet.structure.edges.reversing import Choices
from lacunet.structure.graph_prior import GraphPrior
from lacunet.structure.moves import Limits

AGREED = 1.1  # R̂ up to which chains agree
DRAWS = 1000  # graphs of a chain that are kept, at most


@dataclass(frozen=True)
class EdgeSampling:
    """How to sample."""

    target: float = 0.02  # standard error of every probability
    chains: int = 4
    sweeps: int = 500  # of the first round
    rounds: int = 6  # at most; each doubles what was done
    seed: int = 0
    prior: GraphPrior = GraphPrior.UNIFORM  # over graphs


@dataclass(frozen=True, eq=False)
class Shares:
    """How often something was so, over all chains."""

    mean: FloatArray  # (n, n)
    stderr: FloatArray  # (n, n)
    r_hat: FloatArray  # (n, n) 1 where chains agree


def sample_edges(
    names: Sequence[str],
    cases: Cases,
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
    choices = _choices(chains, limits)
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
    number = kept.shape[0] * kept.shape[1]
    told = (tuple(names), arrows.mean, arrows.stderr, edges.stderr)
    flags = _doubts((arrows, edges), how.target)
    return EdgeCertainty(*told, EdgesBy.SAMPLED, number, how.chains, flags)


def _doubts(found: Sequence[Shares], target: float) -> tuple[Flag, ...]:
    """Say that chains disagree, if they do about what is not known well enough."""
    apart = max(float(x.r_hat[x.stderr > target].max(initial=1.0)) for x in found)
    return (Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": apart}),) if apart > AGREED else ()


def shares(drawn: BoolArray) -> Shares:
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
    return Shares(mean, np.maximum(stderr, floor), r_hat)


def _choices(chains: Sequence[Chain], limits: Limits) -> Choices:
    """Let reversals propose what the chains found so far: the same for all of them."""
    graphs = np.array([chain.walker.graph.parents for chain in chains])
    joined = (graphs | graphs.swapaxes(1, 2)).mean(axis=0)
    return propose_sets(joined, chains[0].book, limits)


def _round(
    chains: Sequence[Chain], choices: Choices, sweeps: int, thin: int, executor: Executor
) -> tuple[list[Chain], BoolArray]:
    """Let all chains go on; give them, and their graphs, (chains, draws, n, n)."""
    go_on = partial(advance, choices=choices, sweeps=sweeps, thin=thin)
    title = f"{sweeps:,} sweeps of chain"
    done = executor.count(go_on, chains, title, 0, len(chains))
    return [chain for chain, _ in done], np.stack([drawn for _, drawn in done])
