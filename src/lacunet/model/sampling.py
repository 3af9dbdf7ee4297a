"""Random data."""

import numpy as np

from lacunet.arrays import CodeArray
from lacunet.errors import OptionError
from lacunet.model.network import Model


def sample_codes(
    model: Model, rows: int, rng: np.random.Generator, missing_rate: float = 0.0
) -> CodeArray:
    """Draw rows of the observed variables, then make holes completely at random.

    Returns
    -------
    codes : (rows, number of observed variables), -1 = missing
    """
    if not 0 <= missing_rate < 1:
        raise OptionError(f"a missing rate of {missing_rate:g} is not allowed: give 0 ≤ p < 1.")
    seen = sample_variables(model, rows, rng)[:, list(model.network.observed)]
    if missing_rate:
        seen = np.where(rng.random(seen.shape) < missing_rate, -1, seen)
    return np.ascontiguousarray(seen, dtype=np.int32)


def sample_variables(model: Model, rows: int, rng: np.random.Generator) -> CodeArray:
    """Draw rows of all variables, hidden ones too: (rows, number of variables)."""
    check_rows(rows)
    network = model.network
    codes = np.empty((rows, len(network.variables)), dtype=np.int32)
    for i in network.order:
        table = network.layout.table(model.theta, i)
        p = table[tuple(codes[:, list(network.parents[i])].T)]  # (rows, r_i) or (r_i,)
        cumulative = np.cumsum(p, axis=-1)
        # Scaling by the last value keeps rounding from ever drawing a state beyond the last one.
        u = rng.random(rows) * cumulative[..., -1]
        codes[:, i] = np.sum(u[:, None] >= cumulative, axis=-1)
    return codes


def check_rows(rows: int) -> None:
    """Refuse to draw nothing."""
    if rows < 1:
        raise OptionError(f"{rows} rows: there must be at least 1.")
