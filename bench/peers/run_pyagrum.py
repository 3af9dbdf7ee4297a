"""Time pyAgrum's EM, its search for graphs and its reading of files on what is handed over.

Runs in the peers' environment (see requirements.txt) and imports nothing of Lacunet::

    python run_pyagrum.py shipped alarm
    python run_pyagrum.py graph ROWS.npz
    python run_pyagrum.py em INPUT.npz --iterations 2
    python run_pyagrum.py em INPUT.npz --epsilon 1e-4
    python run_pyagrum.py rows INPUT.npz
    python run_pyagrum.py bif INPUT.bif --repeats 5

One JSON line goes to standard output. INPUT.npz holds

- ``codes`` (N, n) int8, -1 where the cell is missing;
- ``names`` (n,); ``parents``, JSON, the indices of each variable's parents;
- ``theta_0`` ... ``theta_{n-1}``, tables: axes are the parents in their order, then the variable.

What is counted. "em" starts from those tables, as they are (noise 0), with no prior, on one thread.
Its time is that of learnParameters(): reading the rows is over by then. EM is told to stop after so
many iterations, or when the relative change of the log-likelihood falls below epsilon. What pyAgrum
calls the log-likelihood there is Σ E[N_ijk] log θ_ijk, with every missing cell filled in.

"graph" searches by BDeu, greedily and with a tabu list, as both come. ROWS.npz holds ``codes``,
without holes, ``names`` and ``cards`` (n,), the numbers of states.

"shipped" gives a network that pgmpy ships as BIF text: only that file is read, pgmpy is not loaded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

warnings.simplefilter("ignore")  # where warnings are errors, the import below ends the process

HOLE = "?"
PATIENT = 100_000  # iterations: epsilon is to decide


class Given:
    """The file's network, as pyAgrum has it, and its rows."""

    def __init__(self, path: Path) -> None:
        import pyagrum as gum

        with np.load(path) as file:
            self.codes = file["codes"]
            self.names = [str(name) for name in file["names"]]
            self.parents = json.loads(str(file["parents"]))
            tables = [file[f"theta_{i}"] for i in range(len(self.names))]
        gum.setNumberOfThreads(1)
        self.bn = gum.BayesNet("given")
        for name, table in zip(self.names, tables, strict=True):
            states = [str(k) for k in range(table.shape[-1])]
            self.bn.add(gum.LabelizedVariable(name, name, states))
        for child, parents in enumerate(self.parents):
            for p in parents:
                self.bn.addArc(self.names[p], self.names[child])
        for name, table in zip(self.names, tables, strict=True):
            # It is filled with the child fastest, then the first parent, then the next.
            axes = [*reversed(range(table.ndim - 1)), table.ndim - 1]
            self.bn.cpt(name).fillWith(np.transpose(table, axes).reshape(-1).tolist())

    def tables(self, bn: Any) -> list[list[float]]:
        """Give its tables flat, axes as in the file."""
        found = []
        for child, parents in enumerate(self.parents):
            cpt = bn.cpt(self.names[child])
            axes = list(reversed(cpt.names))  # an array of pyAgrum has its last variable first
            wanted = [*(self.names[p] for p in parents), self.names[child]]
            array = np.transpose(cpt.toarray(), [axes.index(name) for name in wanted])
            found.append(array.reshape(-1).tolist())
        return found

    def write(self, path: Path) -> None:
        cells = np.where(self.codes < 0, HOLE, self.codes.astype(str))
        lines = [",".join(self.names), *(",".join(row) for row in cells)]
        path.write_text("\n".join(lines) + "\n")


def shipped(name: str) -> dict[str, Any]:
    try:
        found = [f for f in files("pgmpy") or [] if f.name in (f"{name}.bif", f"{name}.bif.gz")]
    except PackageNotFoundError:
        return {"skipped": f"pgmpy, which ships {name}, is not installed"}
    if not found:
        return {"skipped": f"pgmpy {version('pgmpy')} does not ship {name}.bif"}
    content = found[0].locate().read_bytes()
    text = gzip.decompress(content) if found[0].name.endswith(".gz") else content
    return {"version": version("pgmpy"), "bif": text.decode()}


def em(given: Given, iterations: int | None, epsilon: float | None) -> dict[str, Any]:
    import pyagrum as gum

    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        given.write(path)
        learner = gum.BNLearner(str(path), given.bn, [HOLE])
    learner.setNumberOfThreads(1)
    learner.useNoPrior()
    learner.useEMWithRateCriterion(epsilon or sys.float_info.min, 0.0)
    learner.EMsetMaxIter(iterations or PATIENT)
    learner.EMsetVerbosity(True)
    began = time.perf_counter()
    learnt = learner.learnParameters(given.bn)
    seconds = time.perf_counter() - began
    if iterations and learner.EMnbrIterations() != iterations:
        raise RuntimeError(f"{learner.EMnbrIterations()} iterations were run, not {iterations}")
    return {
        "seconds": seconds,
        "iterations": learner.EMnbrIterations(),
        "epsilon": epsilon,
        "history": [-x for x in learner.EMHistory()],
        "stopped": learner.EMStateMessage(),
        "tables": given.tables(learnt),
    }


def rows(given: Given) -> dict[str, Any]:
    """Give log p(what is seen of it) of each row."""
    import pyagrum as gum

    engine = gum.LazyPropagation(given.bn)
    found = []
    for row in given.codes.tolist():
        seen = {name: k for name, k in zip(given.names, row, strict=True) if k >= 0}
        engine.setEvidence(seen)
        found.append(float(np.log(engine.evidenceProbability())))
    return {"log_p": found}


def graph(path: Path) -> dict[str, Any]:
    """Give the edges that each search finds, and the time that it takes."""
    import pyagrum as gum

    with np.load(path) as file:
        codes, names = file["codes"], [str(name) for name in file["names"]]
        template = gum.BayesNet("given")
        for name, card in zip(names, file["cards"], strict=True):
            template.add(gum.LabelizedVariable(name, name, [str(k) for k in range(card)]))
    edges, seconds = [], []
    with TemporaryDirectory() as folder:
        rows_file = Path(folder) / "rows.csv"
        lines = [",".join(names), *(",".join(row) for row in codes.astype(str))]
        rows_file.write_text("\n".join(lines) + "\n")
        for way in ("useGreedyHillClimbing", "useLocalSearchWithTabuList"):
            learner = gum.BNLearner(str(rows_file), template)
            learner.setNumberOfThreads(1)
            learner.useScoreBDeu()
            getattr(learner, way)()
            began = time.perf_counter()
            found = learner.learnDAG()
            seconds.append(time.perf_counter() - began)
            edges.append([[names[u], names[v]] for u, v in found.arcs()])
    return {"edges": edges, "seconds": seconds}


def bif(path: Path, repeats: int) -> dict[str, Any]:
    """Give the times of reading a file, after it was read once."""
    import pyagrum as gum

    gum.loadBN(str(path))
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        gum.loadBN(str(path))
        seconds.append(time.perf_counter() - began)
    return {"seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("task", choices=("shipped", "em", "rows", "graph", "bif"))
    parser.add_argument("input", type=Path, help="INPUT.npz, INPUT.bif, or the name of a network")
    parser.add_argument("--repeats", type=int, default=5, help="times to read a file")
    parser.add_argument("--iterations", type=int, help="of EM; at least 2")
    parser.add_argument("--epsilon", type=float, help="relative change at which EM stops")
    options = parser.parse_args()
    if options.task == "shipped":
        print(json.dumps(shipped(str(options.input))))
        return 0
    if options.task == "graph":
        print(json.dumps({"version": version("pyagrum"), **graph(options.input)}))
        return 0
    if options.task == "bif":
        print(json.dumps({"version": version("pyagrum"), **bif(options.input, options.repeats)}))
        return 0
    given = Given(options.input)
    if options.task == "rows":
        result = rows(given)
    else:
        result = em(given, options.iterations, options.epsilon)
    print(json.dumps({"version": version("pyagrum"), **result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
