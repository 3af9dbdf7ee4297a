"""Results as plain dictionaries, lists, numbers and texts, without anything that a clock decides.

Only public attributes are read: everything behind them may move.
"""

import math
from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np

LONGEST = 40  # numbers of an array that are kept one by one; of a longer one, only its moments
FIRST = 5  # of which so many are kept besides
CLOCK = {"seconds"}  # keys of documents that are never the same twice


def plain(value):
    """Turn anything that a result is made of into what JSON can hold, with all its digits."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return number(float(value))
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if k not in CLOCK}
    if isinstance(value, np.ndarray):
        return array(value)
    return sequence([plain(v) for v in value])


def number(x):
    """Numbers that JSON does not know become texts."""
    return x if math.isfinite(x) else str(x)


def sequence(items):
    """Keep a list, or the moments of one that is long and of numbers only."""
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in items)
    return moments(np.array(items)) if len(items) > LONGEST and numbers else items


def array(x):
    """Keep a short array whole, of a long one the moments; long texts are counted."""
    if x.dtype.kind in "biuf":
        return moments(x) if x.size > LONGEST else nested(x.tolist())
    items = [str(v) for v in x.ravel().tolist()]
    return items if len(items) <= LONGEST else texts(items)


def nested(x):
    return [nested(v) for v in x] if isinstance(x, list) else plain(x)


def moments(x):
    """Sums that move with every number, and with the order of them."""
    flat = x.ravel().astype(float)
    known = np.isfinite(flat)
    finite = np.where(known, flat, 0.0)
    place = np.arange(1, len(flat) + 1) / len(flat)
    return {
        "shape": list(x.shape),
        "sum": math.fsum(finite),
        "squares": math.fsum(finite**2),
        "by place": math.fsum(finite * place),
        "first": [number(v) for v in flat[:FIRST].tolist()],
        "not finite": int((~known).sum()),
    }


def texts(items):
    """How often each text occurs, and where: long columns of labels."""
    found = {text: [i for i, item in enumerate(items) if item == text] for text in set(items)}
    if len(found) > LONGEST:
        return {"texts": len(items), "distinct": len(found), "first": items[:FIRST]}
    return {
        text: {"count": len(at), "places": math.fsum(at), "squares": math.fsum(i * i for i in at)}
        for text, at in sorted(found.items())
    }


def model(given):
    """Every variable with its table and its prior's."""
    network = given.network
    names = [v.name for v in network.variables]
    return {
        v.name: {
            "states": [str(s) for s in v.states],
            "hidden": v.hidden,
            "parents": [names[p] for p in network.parents[i]],
            "table": plain(given.table(v.name)),
        }
        for i, v in enumerate(network.variables)
    } | {"alpha": plain(np.asarray(given.alpha)), "dimension": network.dimension}


def fit(found):
    return {
        "model": model(found.model),
        "log_lik": found.log_lik,
        "log_prior": number(found.log_prior),
        "log_posterior": number(found.log_posterior),
        "estimate": str(found.options.estimate),
        "schedule": str(found.options.schedule),
        "status": str(found.status),
        "iterations": found.iterations,
        "finalists": found.finalists,
        "reached": found.reached,
        "gradient": found.gradient,
        "flags": [str(flag) for flag in found.flags],
    }


def evidence(found):
    return plain(
        {
            "value": found.value,
            "stderr": found.stderr,
            "terms": found.terms,
            "flags": [str(flag) for flag in found.flags],
        }
    )


def evidences(found):
    return {name: evidence(e) for name, e in found.items()}


def measurement(found):
    return plain(
        {
            "value": found.value,
            "one_labelling": found.one_labelling,
            "stderr": found.stderr,
            "ess": found.ess,
            "verdict": found.verdict,
            "method": found.method,
            "used": found.used,
            "details": found.details,
            "notes": [str(note) for note in found.notes],
        }
    )


def sandwich(found):
    return plain(
        {
            "lower": found.lower,
            "lower_stderr": found.lower_stderr,
            "upper": found.upper,
            "upper_stderr": found.upper_stderr,
            "gap": found.gap,
            "steps": found.steps,
            "chains": found.chains,
        }
    )


def selection(found):
    """Every candidate with its fit and scores; what is chosen, and how surely."""
    import lacunet

    names = [s.name for s in found.scores]
    return {
        "candidates": {
            str(c.label): {
                "fit": fit(c.fit),
                "dimension": c.dimension,
                "log_labellings": c.log_labellings,
                "scores": evidences(c.scores),
                "measured": c.measured and measurement(c.measured),
            }
            for c in found.candidates
        },
        "headline": found.headline,
        "states": plain(found.states),
        "chosen": plain(found.chosen),
        "posterior": {name: plain(found.posterior(name)) for name in names},
        "labelled": {name: plain(found.posterior(name, lacunet.Labellings.ALL)) for name in names},
    }


def scores(found):
    return {
        "dimension": found.dimension,
        "log_likelihood": number(found.log_likelihood),
        "log_prior": number(found.log_prior),
        "flags": [str(flag) for flag in found.flags],
        "evidence": evidences(found.evidence),
        "refit": found.fit and fit(found.fit),
    }


def intervals(found):
    network = found.model.network
    return {
        "level": found.level,
        "method": found.method,
        "flags": [str(flag) for flag in found.flags],
        "tables": {v.name: plain(found.table(v.name)._asdict()) for v in network.variables},
    }


def classification(found):
    return plain(
        {
            name: getattr(found, name)
            for name in ("states", "entropy_r2", "error", "expected", "average", "given", "sizes")
        }
    )


def statistics(found):
    fields = ("g2", "x2", "df", "p_g2", "p_x2", "cells", "patterns")
    return plain(
        {
            "log_lik": found.log_lik,
            "cases": found.cases,
            "dimension": found.dimension,
            "criteria": found.criteria,
            "classification": {c.name: classification(c) for c in found.classification},
            "goodness": found.goodness and {name: getattr(found.goodness, name) for name in fields},
            "residuals": found.residuals
            and {
                f"{r.first}, {r.second}": [r.value, r.x2, r.df]
                for r in sorted(found.residuals, key=lambda r: (r.first, r.second))
            },
        }
    )


def traces(found):
    return {
        "objective": found.objective,
        "best": plain(found.best.values),
        "ends": plain(np.array([t.end for t in found.traces])),
        "steps": plain(np.array([len(t.values) for t in found.traces])),
        "climbed": sum(t.climbed for t in found.traces),
        "all": plain(np.concatenate([t.values for t in found.traces])),
    }


def ratio_test(found):
    return plain(
        {
            "statistic": found.statistic,
            "p_value": found.p_value,
            "exceeding": found.exceeding,
            "replicates": found.replicates,
            "flags": [str(flag) for flag in found.flags],
            "small": fit(found.small),
            "large": fit(found.large),
        }
    )


def assignment(found):
    return {
        v.name: plain(
            {
                "states": v.states,
                "probabilities": v.probabilities,
                "best": v.best,
                "missing": v.missing,
            }
        )
        for v in found.variables
    } | {"impossible": found.impossible}


def table(found):
    return plain(
        {
            "columns": {c.name: [str(s) for s in c.states] for c in found.columns},
            "codes": found.codes,
            "counts": found.counts,
            "rows": found.rows,
            "empty_rows": found.empty_rows,
            "weights": found.weights,
            "missing": found.missing,
            "notes": found.notes,
        }
    )


def frame(found):
    """A Polars dataframe, column by column."""
    return {name: plain(np.array(found[name].to_list(), dtype=object)) for name in found.columns}
