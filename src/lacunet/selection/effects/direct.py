"""Direct effects between answers: the pairs that residuals point to, tried and kept if they pay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.data.sampling_design import flags_of
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.fitting.predictive import softmax_climb, with_posterior
from lacunet.models.network import Model, Network
from lacunet.selection.effects.adding import Edge, Trial, add_while_it_pays, kept_edges
from lacunet.selection.effects.fitted import Fitted, Workshop
from lacunet.summaries.residuals import PairResidual, bivariate_residuals
from lacunet.summaries.statistics import few_pairs
from lacunet.tabular import Columns, Grid, Printable, number, share, transposed

SUSPECT = 2.0  # X²/df from which two columns are tried
TRIED = 5  # pairs that are tried in a step, the worst first


@dataclass(frozen=True, eq=False, repr=False)
class DirectEffects(Printable):
    """A latent class model, and the direct effects that were tried and kept beside its classes."""

    base: Fitted  # without them
    fit: Fit  # with those that pay
    trials: tuple[Trial, ...]  # one step after the other
    pairs: int  # pairs of columns between which there may be an effect

    @property
    def model(self) -> Model:
        """The model with the effects that pay."""
        return self.fit.model

    @property
    def edges(self) -> tuple[str, ...]:
        """The effects that pay, as `edges` of `fit` takes them."""
        return tuple(":".join(edge) for edge in kept_edges(self.trials))

    def brief(self) -> str:
        """Say which were kept."""
        kept = f"kept: {', '.join(self.edges)}" if self.edges else "none pays"
        return f"Direct effects beside the classes: {len(self.trials)} tried, {kept}"

    def tidy(self) -> Columns:
        """Give a row for each trial."""
        names = ("step", "adds", "parent", "child", "log_bayes_factor", "change_of_bic", "kept")
        rows = (
            (t.step + 1, t.adds, *t.edge, float(t.gain), float(t.change_of_bic), t.kept)
            for t in self.trials
        )
        return transposed(names, rows)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        return [self.tried, *self.fit.grids()]

    @property
    def tried(self) -> Grid:
        """What was tried, one step after the other."""
        if not self.trials:
            note = f"No two columns have a residual X²/df above {SUSPECT:g}: nothing to try."
            return Grid(self.brief(), notes=(note,))
        header = ("step", "effect", "2 log ratio", "df", "p(χ²)", "BIC", "log BF", "needs", "taken")
        chance = f"one of {self.pairs:,} pairs may look good by chance"
        notes = (
            "Each against the model of its step; what is taken is in the next one.",
            "BIC: its change, below 0 is better. log BF: in nats, approximated (csl).",
            f"needs: what log BF must be above, for {chance}; p(χ²) knows nothing of that.",
            "Effects may stand in for a class that is missing: compare with one class more.",
            *map(str, flags_of(self.fit.problem.design)),
        )
        rows = tuple(map(_row, self.trials))
        return Grid(self.brief(), header, rows, frozenset({1, 8}), notes)


def _row(trial: Trial) -> tuple[str, ...]:
    ratio = trial.ratio
    test: tuple[str, ...] = ("–", "–", "–")
    if ratio is not None:
        test = (number(ratio.statistic), str(ratio.df), share(ratio.p_value))
    worth = number(trial.change_of_bic), number(trial.gain), number(trial.price)
    effect = f"{'' if trial.adds else 'without '}{':'.join(trial.edge)}"
    return str(trial.step + 1), effect, *test, *worth, "yes" if trial.kept else ""


def direct_effects(workshop: Workshop, network: Network) -> DirectEffects:
    """Fit a latent class model, and add the direct effects by which the evidence grows."""
    executor = workshop.executor
    if not few_pairs(workshop.problem(network), latent_class=False):
        raise OptionError(
            "there are too many pairs of columns to look at all of them, step by step. Name the "
            "effects to add: --edge A:B."
        )
    base = replace(workshop, executor=executor.part(0.0, 0.5)).searched(network)
    columns = sum(network.variables[i].family.tabular for i in network.observed)
    pairs = columns * (columns - 1) // 2
    one_by_one = replace(workshop, executor=executor.part(0.5, 0.9, "direct effects"))
    last, trials = add_while_it_pays(one_by_one, base, suspects, pairs)
    best = workshop.searched(last.network, [last]) if last is not base else base
    mode = softmax_climb(best.fit.problem, best.fit.model.theta, executor.silent())
    return DirectEffects(base, with_posterior(best.fit, mode.point), tuple(trials), pairs)


def suspects(now: Fitted) -> list[Edge]:
    """Pairs of columns that a model does not explain, the worst first; as they stand in the data.

    So edges go from columns that stand before to those behind, and never in a circle.
    """
    problem, network = now.fit.problem, now.network
    pairs = bivariate_residuals(now.fit.model, problem.codes, problem.counts)
    edges = map(partial(_edge, network), (pair for pair in pairs if pair.value > SUSPECT))
    new = (e for e in edges if network.index(e[0]) not in network.parents[network.index(e[1])])
    return [edge for edge, _ in zip(new, range(TRIED), strict=False)]


def _edge(network: Network, pair: PairResidual) -> Edge:
    names = [network.variables[i].name for i in network.shown]
    one, other = sorted((pair.first, pair.second), key=names.index)
    return one, other
