"""A table of numbers, counts, ordered answers and categories, with missing values."""

import numpy as np
import polars as pl

KINDS = "height=gaussian,income=lognormal,visits=poisson,agree=ordinal"
FAST = {"starts": 8, "threads": 1}


def people(rows=120, seed=0, missing=0.1):
    """Two kinds of people, who differ in everything."""
    rng = np.random.default_rng(seed)
    z = rng.random(rows) < 0.4
    columns = {
        "height": rng.normal(np.where(z, 180.0, 165.0), 6.0).round(1),
        "income": np.exp(rng.normal(np.where(z, 8.0, 7.0), 0.4)).round(0),
        "visits": rng.poisson(np.where(z, 2.0, 9.0)),
        "agree": 1 + rng.binomial(4, np.where(z, 0.2, 0.7)),
        "sex": np.where(rng.random(rows) < np.where(z, 0.9, 0.2), "m", "f"),
    }
    observed = {name: rng.random(rows) >= missing for name in columns}
    return pl.DataFrame(
        {
            name: [v if seen else None for v, seen in zip(x.tolist(), observed[name], strict=True)]
            for name, x in columns.items()
        }
    )
