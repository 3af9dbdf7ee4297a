"""Answers of people in groups, from classes that are known; and the evidence by plain sums."""

import itertools

import numpy as np
from scipy.special import comb, gammaln

YES = np.array([[0.9, 0.8, 0.85, 0.9, 0.8], [0.2, 0.1, 0.2, 0.15, 0.1]])  # (classes, items)
SIZES = np.array([[0.7, 0.3], [0.4, 0.6]])  # (groups, classes)


def people(cases, seed, *, other=None, missing=0.0, yes=YES):
    """Columns of answers and sex; `other` are the answers of the second group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, cases)
    member = (rng.random(cases) > SIZES[group, 0]).astype(int)
    profiles = np.stack([yes, yes if other is None else other])
    answers = (rng.random((cases, yes.shape[1])) < profiles[group, member]).astype(object)
    answers[rng.random(answers.shape) < missing] = None
    names = "ABCDE"[: yes.shape[1]]
    items = {
        name: [None if x is None else int(x) for x in answers[:, j]] for j, name in enumerate(names)
    }
    return {**items, "sex": np.array(["f", "m"])[group].tolist()}


def with_change(item, to):
    """Answers that differ in one item of the second class."""
    changed = YES.copy()
    changed[0, item] = to
    return changed


def three_differ(seed):
    """Three classes, eight items; 1, 4 and 6 differ in one class of the second group."""
    rng = np.random.default_rng(seed)
    yes = rng.choice([0.15, 0.85], size=(3, 8))
    yes[0], yes[1] = 0.15, 0.85
    other = yes.copy()
    for item in (1, 4, 6):
        other[rng.integers(3), item] = 0.5
    group = rng.integers(0, 2, 1200)
    sizes = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    member = (rng.random((1200, 1)) > sizes[group].cumsum(axis=1)[:, :2]).sum(axis=1)
    answers = rng.random((1200, 8)) < np.stack([yes, other])[group, member]
    items = {f"i{j}": answers[:, j].astype(int).tolist() for j in range(8)}
    return {**items, "sex": np.array(["m", "f"])[group].tolist()}


def log_evidence(data, free, alpha):
    """Log p(answers | groups) of two classes, by a sum over who is in which: Dirichlet(α) alike.

    Cases that answer alike are alike, so the sum goes over how many of them are in class 1.
    """
    items = [name for name in data if name != "sex"]
    rows = list(zip(*(data[name] for name in items), data["sex"], strict=True))
    kinds = sorted(set(rows))
    cases = np.array([rows.count(kind) for kind in kinds])
    first = np.array(list(itertools.product(*(range(n + 1) for n in cases))))
    terms = np.log(comb(cases, first)).sum(axis=1)
    classes = first, cases - first  # (sums, kinds) each
    for sex in "fm":
        members = [kind[-1] == sex for kind in kinds]
        terms += _marginal([x[:, members].sum(axis=1) for x in classes], alpha)
    for j, name in enumerate(items):
        for where in ("f", "m") if name in free else ("fm",):
            answers = [[kind[j] == x and kind[-1] in where for kind in kinds] for x in (0, 1)]
            for x in classes:
                terms += _marginal([x[:, members].sum(axis=1) for members in answers], alpha)
    return float(np.logaddexp.reduce(terms))


def _marginal(counts, alpha):
    """Log probability of sequences with these counts, one array a state, under a Dirichlet(α)."""
    total = len(counts) * alpha
    each = sum(gammaln(alpha + n) - gammaln(alpha) for n in counts)
    return each + gammaln(total) - gammaln(total + sum(counts))
