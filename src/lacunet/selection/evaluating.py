"""Fit and score candidates: each with its problem, all of the same data."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from lacunet.data.table import Table
from lacunet.errors import LacunetError, ModelError
from lacunet.fitting.fit import Options
from lacunet.inference.plausible import FAILURES
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.prior import PAPER_ALPHA, Alpha, dirichlet
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import GROUPS, Fitting, Score, applicable
from lacunet.scores.evaluation import Asked, Unfitted, score_fits
from lacunet.selection.average import Label, check_prior
from lacunet.selection.candidates import Candidate, Failed, Proposal, Selection

T = TypeVar("T")


def candidates_of(
    proposals: Sequence[Proposal],
    problems: Sequence[Problem],
    *,
    scores: Sequence[Score],
    options: Options,
    rank: bool = False,
    executor: Executor = SERIAL,
    kept: Kept = FORGETFUL,
) -> list[Candidate]:
    """Fit and score networks, each with its problem; the data of all are the same.

    The first that cannot be fitted ends it.
    """
    found = _tried(proposals, problems, scores, Fitter(options, rank, executor, kept))
    return _fitted(found)


class Fitter(NamedTuple):
    """How candidates are fitted."""

    options: Options
    rank: bool = False
    executor: Executor = SERIAL
    kept: Kept = FORGETFUL


def _tried(
    proposals: Sequence[Proposal],
    problems: Sequence[Problem],
    scores: Sequence[Score],
    by: Fitter,
) -> list[Candidate | Unfitted]:
    """Fit and score networks; those that cannot be fitted are among the results."""
    asked = [
        Asked(
            Fitting(problem, by.options, by.rank),
            tuple(applicable(scores, problem)),
            proposal.title,
        )
        for proposal, problem in zip(proposals, problems, strict=True)
    ]
    each = zip(proposals, score_fits(asked, by.executor, by.kept), strict=True)
    return [
        s
        if isinstance(s, Unfitted)
        else Candidate(
            proposal, s.fit, s.dimension, s.evidence, symmetries_of(s.fit.problem).log_count
        )
        for proposal, s in each
    ]


def _fitted(found: Sequence[T | Unfitted]) -> list[T]:
    """Give what there is, or raise the error of the first that could not be fitted."""
    fitted: list[T] = []
    for each in found:
        if isinstance(each, Unfitted):
            if isinstance(each.error, LacunetError):
                raise each.error
            raise ModelError(
                f"{each.title} could not be fitted: {each.reason}. Other options of the prior "
                "(--alpha, --number-prior), or columns in another unit, may help."
            ) from each.error
        fitted.append(each)
    return fitted


def evaluate(
    table: Table,
    proposals: Sequence[Proposal],
    *,
    scores: Sequence[Score] = GROUPS["usual"],
    options: Options | None = None,
    alpha: Alpha = PAPER_ALPHA,
    prior: Mapping[Label, float] | None = None,
    rank: bool = False,
    executor: Executor = SERIAL,
    kept: Kept = FORGETFUL,
) -> Selection:
    """Fit and score every proposal; one that cannot be fitted ends the others only if all are."""
    options = options or Options()
    check_prior(prior, [p.label for p in proposals])
    built = executor.map(partial(_problem, table, alpha), list(proposals))
    problems = {n: p for n, p in enumerate(built) if isinstance(p, Problem)}
    by = Fitter(options, rank, executor, kept)
    tried = _tried([proposals[n] for n in problems], list(problems.values()), scores, by)
    found: dict[int, Candidate | Problem | Unfitted] = {
        **dict(enumerate(built)),
        **dict(zip(problems, tried, strict=True)),
    }
    candidates = [c for c in found.values() if isinstance(c, Candidate)]
    failed = [
        Failed(proposals[n].label, proposals[n].title, each.reason)
        for n, each in found.items()
        if isinstance(each, Unfitted)
    ]
    if not candidates:
        _fitted(list(found.values()))
    return Selection(table, tuple(candidates), options, alpha, prior, failed=tuple(failed))


def _problem(table: Table, alpha: Alpha, proposal: Proposal) -> Problem | Unfitted:
    try:
        return build_problem(table, proposal.network, dirichlet(proposal.network, alpha))
    except FAILURES as error:
        return Unfitted(proposal.title, error)
