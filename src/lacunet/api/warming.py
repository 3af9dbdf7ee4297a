"""Compile kernels ahead, for a container or a first demonstration: each kind of work once, tiny."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lacunet.api.classifying import learn_class
from lacunet.api.fitting import fit
from lacunet.api.graphs import learn_structure
from lacunet.api.imputing import impute
from lacunet.api.pooled import Asked
from lacunet.api.selecting import select
from lacunet.data.read import read_table
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.runtime.executor import Serial
from lacunet.runtime.progress import Listener, ignore
from lacunet.settings import Settings

ROWS = 60
SEED = 0


def warm_up(work: Sequence[str] = (), *, listener: Listener = ignore) -> None:
    """Compile the kernels that common work needs, and keep them on disk.

    The first work of a kind on a machine compiles its kernels, some ten seconds long; they are kept
    beside the package, or in the user's cache where that folder cannot be written, or in
    ``NUMBA_CACHE_DIR``. This does it ahead, for example while a container is built.

    Parameters
    ----------
    work
        Kinds of work, some of 'fit', 'select', 'learn', 'impute' and 'classify' (default: all).
    listener
        Called with what is done now.
    """
    for name in work:
        if name not in WORK:
            raise OptionError(f"there is no work '{name}' to warm up. Give some of {_names()}.")
    wanted = [name for name in WORK if not work or name in work]
    say = Serial(listener).say
    for done, name in enumerate(wanted):
        say(f"compiling kernels of {name}", done / len(wanted))
        WORK[name]()
    say("kernels are compiled", 1.0)


def _answers() -> Table:
    return read_table(_columns())


def _columns() -> dict[str, list[str | None]]:
    """Draw two classes of people who answer four questions; some answers are missing."""
    rng = np.random.default_rng(SEED)
    kind = rng.integers(0, 2, ROWS)
    found: dict[str, list[str | None]] = {}
    for name in "abcd":
        answer = np.where(rng.random(ROWS) < 0.9, kind, 1 - kind)
        holes = rng.random(ROWS) < 0.1
        found[name] = [
            None if hole else ("yes" if x else "no") for x, hole in zip(answer, holes, strict=True)
        ]
    return found


def _fit() -> None:
    fit(_answers(), 2, threads=1, starts=2)
    fit(read_table(_measured()), 2, threads=1, starts=2)


def _measured() -> dict[str, list[float]]:
    rng = np.random.default_rng(SEED)
    return {name: rng.normal(size=400).tolist() for name in "xy"}


def _select() -> None:
    select(_answers(), range(1, 3), threads=1)


def _learn() -> None:
    learn_structure(_answers(), threads=1)


def _impute() -> None:
    rng = np.random.default_rng(SEED)
    impute({**_columns(), "x": rng.normal(size=ROWS).tolist()}, threads=1)


def _classify() -> None:
    table, settings = _answers(), Settings(threads=1)
    learn_class(table, "a", Asked.AUTO.value, settings)


WORK: Mapping[str, Callable[[], None]] = {
    "fit": _fit,
    "select": _select,
    "learn": _learn,
    "impute": _impute,
    "classify": _classify,
}


def _names() -> str:
    return ", ".join(map(repr, WORK))
