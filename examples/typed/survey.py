"""A small project of a user, typed strictly: `make types` checks it with the types of the package.

Run it: `python examples/typed/survey.py`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lacunet
from lacunet import (
    Assignment,
    DataError,
    Evidence,
    Fit,
    LatentClassModel,
    Learned,
    Model,
    Network,
    Selection,
    Settings,
    Table,
    Variable,
)


def read(path: Path, bins: Mapping[str, int | Sequence[float]]) -> Table:
    """Read a survey, some of its numbers in bins."""
    try:
        return lacunet.read_table(path, bin=dict(bins), missing=["refused"])
    except DataError as error:
        raise SystemExit(str(error)) from error


def choose(table: Table, most: int) -> Selection:
    """Choose the number of classes."""
    return lacunet.select(table, range(1, most + 1), settings=Settings(starts=4), quick=True)


def sizes(model: Model) -> NDArray[np.float64]:
    """Shares of the classes."""
    return np.asarray(model.table("class"), dtype=np.float64)


def describe(fit: Fit) -> list[str]:
    """What to know of a fit."""
    return [str(flag) for flag in fit.flags]


def parents(learned: Learned) -> dict[str, list[str]]:
    """The graph that was learned, by names."""
    network: Network = learned.network
    names = [v.name for v in network.variables]
    return {v.name: [names[p] for p in network.parents[i]] for i, v in enumerate(network.variables)}


def evidence(selection: Selection) -> dict[str, float]:
    """Scores of the best candidate."""
    scores: Mapping[str, Evidence] = selection.best.scores
    return {name: score.value for name, score in scores.items()}


def main() -> None:
    """Go through it once."""
    table = read(Path(lacunet.dataset_path("survey")), {})
    selection = choose(table, 2)
    fit: Fit = selection.best.fit
    found: Assignment = lacunet.assign(lacunet.dataset_path("survey"), fit.model)
    columns: tuple[str, ...] = tuple(column.name for column in table.columns)
    variables: list[Variable] = [v for v in fit.model.network.variables if not v.hidden]
    answer: NDArray[np.float64] = lacunet.query(
        fit.model, "class", {columns[0]: table.columns[0].states[0]}
    )
    labels: NDArray[np.int64] = (
        LatentClassModel(2, random_state=0).fit([[0, 1], [1, 0]] * 9).predict([[0, 1]])
    )
    lines = [
        f"{selection.states} classes of sizes {sizes(fit.model).round(2).tolist()}",
        f"{len(variables)} columns, {len(found.best):,} rows, {len(describe(fit))} flags",
        f"scores: {', '.join(sorted(evidence(selection)))}",
        f"{answer.shape} {labels.shape}",
    ]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
