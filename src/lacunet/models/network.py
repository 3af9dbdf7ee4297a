"""Bayesian networks: `Network`, the structure, and `Model`, a structure with parameters."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from lacunet.errors import ModelError, did_you_mean, numbers_refused
from lacunet.likelihoods import CATEGORICAL, with_prior
from lacunet.models import conjugacy
from lacunet.models.known import Relabelling, check_tie, relabelled_network
from lacunet.models.layout import Cells, Layout
from lacunet.models.predictors import Predictors
from lacunet.models.variable import Variable as Variable  # noqa: PLC0414  # they go together
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.checkpoint import fingerprint
from lacunet.runtime.states import NOWHERE, as_shown
from lacunet.tabular import Columns, Grid, Printable


@dataclass(frozen=True, eq=False, repr=False)
class Network(Printable):
    """The structure S: variables and the parents of each, valid by construction.

    Equality does not depend on the order of the variables.
    """

    variables: tuple[Variable, ...]
    parents: tuple[tuple[int, ...], ...]  # indices of the parents of each variable

    @classmethod
    def build(cls, variables: Sequence[Variable], parents: Sequence[Sequence[int]]) -> Network:
        """Check names, states and acyclicity."""
        network = cls(tuple(variables), tuple(tuple(p) for p in parents))
        network._check()
        return network

    def __eq__(self, other: object) -> bool:
        return self._by_name == other._by_name if isinstance(other, Network) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset((name, parents) for name, (_, parents) in self._by_name.items()))

    @property
    def fingerprint(self) -> str:
        """A digest of the network that does not depend on display positions."""
        return fingerprint([replace(v, place=NOWHERE) for v in self.variables], self.parents)

    @property
    def _by_name(self) -> dict[str, tuple[Variable, tuple[str, ...]]]:
        """Each variable with the names of its parents in order."""
        names = [v.name for v in self.variables]
        return {
            v.name: (v, tuple(names[p] for p in parents))
            for v, parents in zip(self.variables, self.parents, strict=True)
        }

    def _check(self) -> None:
        """Raise ModelError for invalid names, cycles, numeric parents and invalid known tables."""
        if not self.variables:
            raise ModelError("a network needs at least one variable.")
        names = [v.name for v in self.variables]
        if len(set(names)) < len(names):
            name = next(name for name in names if names.count(name) > 1)
            raise ModelError(f"variable '{name}' occurs twice. Names must differ.")
        for v in self.variables:
            if not v.states:
                raise ModelError(f"variable '{v.name}' has no states. It needs at least one.")
            if v.family.tabular and len(set(v.labels)) < len(v.labels):
                raise ModelError(f"variable '{v.name}' has a state twice. States must differ.")
        try:
            _ = self.order  # sorting finds a cycle
        except CycleError as error:
            cycle = " → ".join(f"'{names[i]}'" for i in error.args[1])
            raise ModelError(
                f"the parents form a cycle: {cycle}. Remove one of these edges."
            ) from None
        numbers = {i: v.name for i, v in enumerate(self.variables) if not v.family.tabular}
        for v, parents in zip(self.variables, self.parents, strict=True):
            for number in (numbers[p] for p in parents if p in numbers):
                raise ModelError(
                    f"'{number}' is a number, so it cannot be a parent of '{v.name}': only "
                    "categories can be parents. Turn the edge round, or put its values into bins "
                    f"with --bin {shlex.quote(number)}=5."
                )
            if v.hidden and not v.family.tabular:
                raise ModelError(
                    f"hidden variable '{v.name}' is a number. Only categories can be hidden."
                )
        for i, v in enumerate(self.variables):
            if v.known is not None:
                v.known.check(v.name, self.shape(i))
            if (v.known or v.tied_to) and not v.family.tabular:
                raise ModelError(
                    f"'{v.name}' is not categorical: it has no table to fix or to tie."
                )
            if v.tied_to is not None:
                leader = self.index(v.tied_to)
                check_tie(v, self.variables[leader], self.shape(i), self.shape(leader))

    @property
    def parent_names(self) -> dict[str, list[str]]:
        """The names of the parents of each variable, in the order of display."""
        names = [v.name for v in self.variables]
        return {names[i]: [names[p] for p in self.parents[i]] for i in self.shown}

    def refuse_numbers(self) -> None:
        """Raise an error if any variable is a number."""
        for v in self.variables:
            if not v.family.tabular:
                raise numbers_refused(v.name)

    def shape(self, i: int) -> tuple[int, ...]:
        """Shape of a family's table: states of its parents in their order, then its own."""
        return tuple(len(self.variables[v].states) for v in (*self.parents[i], i))

    def index(self, name: str) -> int:
        """The index of a variable, found by its name."""
        names = [v.name for v in self.variables]
        if name not in names:
            raise ModelError(
                f"'{name}' is not a variable of the network.{did_you_mean(name, names)} "
                f"It has {', '.join(names)}."
            )
        return names.index(name)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Variables with every parent before its children."""
        return tuple(TopologicalSorter(dict(enumerate(self.parents))).static_order())

    @property
    def shown(self) -> tuple[int, ...]:
        """Variables in display order, that of their source."""
        return as_shown([v.place for v in self.variables])

    @cached_property
    def by_value(self) -> Cells:
        """Cells of all values, for all likelihoods."""
        return Cells(self)

    @property
    def cells(self) -> Layout:
        """The layout of cells: the joint states of each family."""
        return self.by_value.layout

    @cached_property
    def layout(self) -> Layout:
        """The layout of parameters; in a categorical network cells are parameters."""
        kinds, layout = tuple(v.family for v in self.variables), self.cells
        if not all(kind == CATEGORICAL for kind in kinds):
            widths = tuple(v.family.width(v.states) for v in self.variables)
            layout = replace(layout, kinds=kinds, widths=widths)
        if self.plain:
            return layout
        return replace(layout, given=self._given(layout), leaders=self._leaders)

    @property
    def plain(self) -> bool:
        """Whether no table is known or tied."""
        return not any(v.known or v.tied_to for v in self.variables)

    @property
    def _leaders(self) -> tuple[int, ...]:
        """The family whose table each family uses; () if all are separate."""
        names = [v.name for v in self.variables]
        tied = any(v.tied_to for v in self.variables)
        return tuple(names.index(v.tied_to or v.name) for v in self.variables) if tied else ()

    def _given(self, layout: Layout) -> FloatArray | None:
        """(size,) numbers that are not learned, NaN elsewhere; None if all are learned."""
        known = [self.variables[i].known for i in self._leaders or range(len(self.variables))]
        if not any(known):
            return None
        return layout.flat(
            [
                np.full(layout.shape(i), np.nan) if table is None else table.forced_values
                for i, table in enumerate(known)
            ]
        )

    def log_base(self, codes: CodeArray) -> FloatArray:
        """Log h(x) of the observed values of each row, (rows,); 0 for categories."""
        total = np.zeros(len(codes))
        for column, i in enumerate(self.observed):
            v = self.variables[i]
            if not v.family.tabular:
                seen = codes[:, column] >= 0
                total[seen] += v.log_base[codes[seen, column]]
        return total

    def to_cells(self, natural: FloatArray) -> FloatArray:
        """Log weight of every cell, T(x) · η: (..., size) → (..., cells)."""
        return self.by_value.weights(natural)

    def averaged_cells(self, theta: FloatArray, hyper: FloatArray) -> FloatArray:
        """Log weight of every cell: categories at θ, numbers with θ integrated out.

        Hyperparameters are those of each configuration (`by_configuration`).
        """
        layout, tables = self.layout, []
        natural = conjugacy.natural(theta, layout)
        for i, v in enumerate(self.variables):
            if v.family.tabular:
                tables.append(layout.table(natural, i))
                continue
            numbers = layout.table(hyper, i)[..., None, :]
            tables.append(with_prior(v.family).log_predictive(numbers, v.statistics))
        return self.cells.flat(tables)

    def to_statistics(self, N: FloatArray) -> FloatArray:
        """Statistics of cell counts: (..., cells) → (..., size)."""
        return self.by_value.statistics(N)

    @property
    def dimension(self) -> int:
        """Number of free parameters."""
        return self.layout.dimension

    @property
    def observed(self) -> tuple[int, ...]:
        """Indices of the observed variables."""
        return tuple(i for i, v in enumerate(self.variables) if not v.hidden)

    @property
    def hidden(self) -> tuple[int, ...]:
        """Indices of the hidden variables."""
        return tuple(i for i, v in enumerate(self.variables) if v.hidden)

    @property
    def hidden_sizes(self) -> dict[str, int]:
        """Number of states of each hidden variable, by name."""
        return {v.name: len(v.states) for v in self.variables if v.hidden}

    def tidy(self) -> Columns:
        """Return a row for each variable: its states and its parents."""
        from lacunet.models.display import network_columns

        return network_columns(self)

    def grids(self) -> Sequence[Grid]:
        """Return the tables for `print` and notebooks."""
        from lacunet.models.display import network_grid

        return [network_grid(self)]


@dataclass(frozen=True, eq=False, repr=False)
class Model(Printable):
    """A structure with its parameters and their prior."""

    network: Network
    theta: FloatArray  # (size,) θ_ijk in the network's layout: the estimate
    alpha: FloatArray  # (size,) hyperparameters; for categories Dirichlet exponents α_ijk
    posterior: FloatArray | None = None  # (size,) those given data, α + E[N]; None: no data
    averaged: FloatArray | None = None  # (size,) those of predictive distributions; None: plug-in
    predictors: Predictors | None = None  # covariates that predict the class, if any
    given: int | None = None  # variable that every row conditions on, without a probability

    @cached_property
    def predictive(self) -> Model:
        """The posterior predictive model, or the model itself without a posterior.

        A row uses each parameter of a family at most once. Its predictive probability is therefore
        a product of cell means: E[θ] for categories, and for numbers the density of the predictive
        distribution, such as Student's t.
        """
        if self.posterior is None:
            return self
        layout = self.network.layout
        mean = conjugacy.mean(self.posterior, layout)
        return Model(
            self.network,
            mean,
            self.alpha,
            averaged=None if layout.tabular else self.posterior,
            predictors=self.predictors and self.predictors.predictive,
        )

    @cached_property
    def by_configuration(self) -> FloatArray:
        """Hyperparameters of numbers in each configuration alone, or θ, (size,)."""
        if self.averaged is None:
            return self.theta
        return conjugacy.by_configuration(self.averaged, self.network.layout)

    @cached_property
    def log_weights(self) -> FloatArray:
        """Log p of every cell, (cells,), without its `log_base`."""
        if self.averaged is not None:
            return self.network.averaged_cells(self.theta, self.by_configuration)
        return self.network.to_cells(conjugacy.natural(self.theta, self.network.layout))

    def moments(self, i: int) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a standardised number in each parent configuration."""
        v, layout = self.network.variables[i], self.network.layout
        at = i if v.family.stands_at is None else self.network.index(v.family.stands_at)
        if self.averaged is not None:
            return with_prior(v.family).averaged_moments(layout.table(self.by_configuration, at))
        return v.family.moments(layout.table(self.theta, at))

    @property
    def tables(self) -> list[FloatArray]:
        """The tables of all families: parents in their order, then the child."""
        layout = self.network.layout
        return [layout.table(self.theta, i) for i in range(len(layout.families))]

    def table(self, name: str) -> FloatArray:
        """Return p(variable | parents): parents in their order, then the variable's states."""
        return self.network.layout.table(self.theta, self.network.index(name))

    def tidy(self) -> Columns:
        """Return a row for each parameter."""
        from lacunet.models.display import parameter_columns

        return parameter_columns(self)

    def grids(self) -> Sequence[Grid]:
        """Return the tables for `print` and notebooks."""
        from lacunet.models.display import whole_grids

        return whole_grids(self)

    def permuted(self, variable: int, order: Sequence[int]) -> Model:
        """Renumber the states of a variable: its new state k is the old state `order[k]`.

        State names do not move; for a hidden variable this is a relabelling.
        """
        return self.relabelled(Relabelling(self.network.layout, orders={variable: order}))

    def relabelled(self, by: Relabelling) -> Model:
        """Renumber states or exchange variables in all vectors of the model."""
        moved = self.moved(relabelled_network(self.network, by), by.apply)
        if self.predictors is None:
            return moved
        order = by.orders.get(self.network.index(self.predictors.variable))
        renumbered = self.predictors if order is None else self.predictors.renumbered(order)
        return replace(moved, predictors=renumbered)

    def moved(self, network: Network, move: Callable[[FloatArray], FloatArray]) -> Model:
        """The model in another network; `move` maps flat vectors between the layouts."""
        posterior, averaged = (
            None if x is None else move(x) for x in (self.posterior, self.averaged)
        )
        theta, alpha = move(self.theta), move(self.alpha)
        return Model(network, theta, alpha, posterior, averaged, self.predictors)

    @property
    def dimension(self) -> int:
        """Number of free parameters; coefficients replace class sizes."""
        number, predictors = self.network.dimension, self.predictors
        if predictors is None:
            return number
        return number + predictors.free - len(predictors.at_joint_mode) + 1
