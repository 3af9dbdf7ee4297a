"""Cells of the matrix: small tables and networks of every kind, and what enumeration says of them.

The axes come from the package's own lists (kinds of columns, forms of covariances), so that what is
added there is a row or column of the matrix at once.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property

import closed_forms
import numpy as np

from block_sums import usual_prior
from lacunet.data.kinds import ColumnKind
from lacunet.data.table import Column, Table
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import build_problem
from lacunet.models.known_tables import KnownTables
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior, understand_covariance
from lacunet.models.prior import dirichlet

ALPHA = 1.3
SIZES = np.array([0.35, 0.65])
FIXED = np.array([[0.8, 0.2], [0.3, 0.7]])
OF_A = {"child": "a", "parents": ["h"], "table": FIXED.tolist()}
OF_H = {"child": "h", "parents": [], "table": SIZES.tolist()}
NEVER = {"child": "c", "state": 2, "given": {"h": 0}}
KNOWLEDGE = {
    "none": KnownTables(),
    "fixed": KnownTables(fixed=[OF_A]),
    "tied": KnownTables(tied=[["a", "b"]]),
    "zeros": KnownTables(zeros=[NEVER]),
    "several": KnownTables(fixed=[OF_H], tied=[["a", "b"]], zeros=[NEVER]),
}
COVARIANCES = ("diagonal", "full", "diagonal-common", "full-common")
KINDS = tuple(
    (kind, form)
    for kind in ColumnKind
    for form in (COVARIANCES if kind is ColumnKind.GAUSSIAN else COVARIANCES[:1])
)
HIDDEN = (1, 2, 0)  # classes; two hidden parents; the same network with all of it seen
CASES = (1, 1, 1, 1, 1)  # of each distinct row
WEIGHTS = (1, 2, 1, 1)


@dataclass(frozen=True)
class World:
    """One combination of the axes."""

    knowledge: str
    kind: ColumnKind
    covariance: str
    missing: bool
    weighted: bool
    hidden: int
    seed: int = 0

    def __str__(self):
        parts = [self.knowledge, self.kind.value]
        parts += [self.covariance] if self.kind is ColumnKind.GAUSSIAN else []
        parts += ["missing" if self.missing else "complete"]
        parts += ["weights"] if self.weighted else []
        return "-".join([*parts, f"{self.hidden}h"])

    @cached_property
    def counts(self):
        return np.array(WEIGHTS if self.weighted else CASES, dtype=float)

    @cached_property
    def rng(self):
        return np.random.default_rng([self.seed, *str(self).encode()])

    @property
    def names(self):
        numbers = ["x", "y"] if "full" in self.covariance else ["x"]
        seen = {0: ["h", "g"], 1: [], 2: []}[self.hidden]
        return [*seen, "a", "b", "c", *numbers]

    @property
    def sizes(self):
        numbers = {"h": 2, "g": 2, "a": 2, "b": 2, "c": 3}
        if self.hidden == 1:
            del numbers["g"]
        return numbers | ({"x": 2} if self.kind is ColumnKind.CATEGORICAL else {})

    @property
    def parents(self):
        if self.hidden == 1:
            return dict.fromkeys(self.names, ("h",))
        return {"a": ("h",), "b": ("g",), "c": ("h", "g"), "x": ("g",), "y": ("g",)}

    @cached_property
    def values(self):
        """What each row shows, by column: states, or numbers; NaN where it is missing."""
        rng, rows = self.rng, len(self.counts)
        z = rng.integers(0, 2, rows)
        results = {}
        for name in self.names:
            size = self.sizes.get(name)
            results[name] = (
                rng.integers(0, size, rows).astype(float)
                if size
                else np.asarray(drawn(self.kind, z, rng), dtype=float)
            )
            if size:  # all states occur
                results[name][:size] = rng.permutation(size)
        if "h" in results:  # zeros: not with data that contradict them
            results["c"][(results["h"] == 0) & (results["c"] == 2)] = 0.0
            results["c"][0], results["h"][0] = 2.0, 1.0
        if self.missing:
            results["a"][rng.integers(rows)] = np.nan
            results["c"][1 + rng.integers(rows - 1)] = np.nan
            last = self.names[-1]
            results[last][rng.integers(rows)] = np.nan
        return results

    @cached_property
    def table(self):
        columns, codes = [], []
        for name in self.names:
            x = self.values[name]
            kind = ColumnKind.CATEGORICAL if name in self.sizes else self.kind
            whole = (np.nan_to_num(x) == np.round(np.nan_to_num(x))).all()
            states = np.unique(x[~np.isnan(x)])
            if name in self.sizes:
                states = np.arange(self.sizes[name])
            code = np.where(np.isnan(x), -1, np.searchsorted(states, np.nan_to_num(x)))
            key = tuple(int(s) for s in states) if whole else tuple(float(s) for s in states)
            columns.append(Column(name, key, kind))
            codes.append(code)
        return Table.from_codes(np.stack(codes, axis=1), columns, self.counts)

    @cached_property
    def problem(self):
        prior = NumberPrior(covariance=understand_covariance(self.covariance))
        hidden = [Variable(n, (0, 1), hidden=True) for n in ("h", "g")[: self.hidden]]
        variables = [*hidden, *leaves_of(self.table, prior)]
        names = [v.name for v in variables]
        parents = [[names.index(p) for p in self.parents.get(name, ())] for name in names]
        network = KNOWLEDGE[self.knowledge].of(Network.build(variables, parents))
        return build_problem(self.table, network, dirichlet(network, ALPHA))

    @cached_property
    def truth(self):
        """Log p(D|S) by enumeration."""
        often = self.counts.astype(int)
        shown = {
            name: np.repeat(np.nan_to_num(self.values[name], nan=-1.0).astype(int), often)
            if name in self.values
            else np.full(often.sum(), -1)
            for name in self.sizes
        }
        return closed_forms.log_evidence(self.sizes, shown, list(self._parts(often)))

    def _parts(self, often):
        sizes, parents = self.sizes, {name: self.parents.get(name, ()) for name in self.sizes}
        given = {
            name: np.full([sizes[p] for p in (*parents[name], name)], np.nan) for name in sizes
        }
        children = {name: [name] for name in sizes}
        known = KNOWLEDGE[self.knowledge]
        for entry in known.fixed:
            given[entry["child"]] = np.array(entry["table"])
        for first, *others in known.tied:
            for name in others:
                children[first] += children.pop(name)
        if known.zeros:
            given["c"][0, ..., 2] = 0.0
        for first, leaves in children.items():
            above = [parents[name] for name in leaves]
            yield closed_forms.table(leaves, above, sizes, ALPHA, given[first])
        if self.kind is not ColumnKind.CATEGORICAL:
            x = np.stack([np.repeat(self.values[n], often) for n in self.names if n not in sizes])
            yield NUMBERS[self.kind](x, self.parents["x"], sizes, "common" in self.covariance)


def drawn(kind, z, rng):
    """Numbers of a kind in two groups."""
    noise = rng.normal(size=len(z))
    return {
        ColumnKind.GAUSSIAN: np.round(3.0 * z + noise, 2),
        ColumnKind.LOGNORMAL: np.round(np.exp(z + 0.5 * noise), 2),
        ColumnKind.POISSON: rng.poisson(1.0 + 4.0 * z),
        ColumnKind.ORDINAL: np.concatenate([[1, 5], rng.integers(1, 6, len(z) - 2)]),
    }[kind]


def measured(x, parents, sizes, common, *, log=False):
    """Normal numbers in their mean and standard deviation, by the usual prior."""
    taken = np.log(x) if log else x
    size = np.nanstd(taken, axis=1, keepdims=True)
    unit = (taken - np.nanmean(taken, axis=1, keepdims=True)) / size
    prior = (0.0, 0.1, 3.0, 1.0) if len(x) == 1 else usual_prior(unit.T)
    part = closed_forms.normal(unit.T, parents, sizes, prior, common=common)
    slope = -float((~np.isnan(x) * np.log(size)).sum()) - (np.nansum(taken) if log else 0.0)
    return closed_forms.Part(part.reads, lambda states: part.log_marginal(states) + slope)


def counted(x, parents, sizes, _common):
    return closed_forms.poisson(x[0], parents, sizes, 1.01, 1.01 / np.nanmean(x[0]))


def ordered(x, parents, sizes, _common):
    return closed_forms.binomial(x[0], parents, sizes, ALPHA)


NUMBERS = {
    ColumnKind.GAUSSIAN: measured,
    ColumnKind.LOGNORMAL: lambda *arguments: measured(*arguments, log=True),
    ColumnKind.POISSON: counted,
    ColumnKind.ORDINAL: ordered,
}


def worlds():
    """All cells but scores and methods."""
    axes = (KNOWLEDGE, KINDS, (False, True), (False, True), HIDDEN)
    for knowledge, (kind, form), missing, weighted, hidden in itertools.product(*axes):
        yield World(knowledge, kind, form, missing, weighted, hidden)
