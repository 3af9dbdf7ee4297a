"""ALARM: the network, rows drawn from it, and both as pyAgrum's side takes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.cases import FloatArray, IntArray
from bench.peer import Peers
from bench.structure.shipped import shipped_network
from lacunet.data.table import Column, Table
from lacunet.models.layout import Layout
from lacunet.models.network import Model, Network
from lacunet.models.surgery import sample_codes

SEED = 1996


def alarm(peers: Peers) -> Model | str:
    """Give ALARM, or say why it is not to be had."""
    return shipped_network(peers, "alarm")


def draw(model: Model, rows: int, missing: float) -> IntArray:
    """(rows, variables), -1 = missing, completely at random."""
    codes = sample_codes(model, rows, np.random.default_rng([SEED, rows]), missing)
    return codes.astype(np.int8)


def columns(network: Network) -> list[Column]:
    return [Column(v.name, v.states) for v in network.variables]


def table(network: Network, codes: IntArray) -> Table:
    return Table.from_codes(codes, columns(network))


def uniform(layout: Layout) -> FloatArray:
    """The start of both sides: every state as probable as the others."""
    return 1.0 / layout.spread(layout.sum_k(np.ones(layout.size)))


def hand_over(path: Path, network: Network, theta: FloatArray, codes: IntArray) -> Path:
    """Write what run_pyagrum.py reads."""
    tables = [network.layout.table(theta, i) for i in range(len(network.variables))]
    np.savez(
        path,
        codes=codes,
        names=[v.name for v in network.variables],
        parents=json.dumps(network.parents),
        **{f"theta_{i}": t for i, t in enumerate(tables)},
    )
    return path
