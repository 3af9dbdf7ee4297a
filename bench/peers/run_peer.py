"""Time the EM of another latent class package on a problem handed over in a file.

Runs in the peers' environment (see requirements.txt) and imports nothing of Lacunet::

    python run_peer.py stepmix INPUT.npz
    python run_peer.py polca INPUT.npz --repeats 5 --check
    python run_peer.py --self-check

One JSON line goes to standard output. INPUT.npz holds

- ``codes`` (N, n) int8, -1 where the cell is missing; ``states`` (n,), the states of each column;
- ``weights`` (k,), the start's class weights, and ``theta_0`` ... ``theta_{n-1}``, its tables, each
  (states_j, k): p(state | class); mode "starts" reads only the length of ``weights``;
- ``mode``: "iterations" (exactly ``iterations`` EM iterations from that start) or "starts" (the
  peer's own search from ``starts`` random starts, by its own default convergence settings);
- ``iterations``, ``starts``, ``seed``.

What is counted. One iteration is one E step and one M step, as the peer does them, in its own loop.
Imports, reading the file, laying the data out for the peer, and evaluating the log-likelihood after
the last iteration are not counted. Threads are the caller's to set (OMP_NUM_THREADS and the like).

Where the peers differ. Both leave missing cells out of both steps, as the reference here does. But
StepMix keeps every probability within [1e-15, 1 - 1e-15], and polca and the reference let it reach
0. Where a class is left with few rows, so that entries of its tables vanish, the two therefore go
different ways after some iterations and may end in different local maxima: with 32 classes on 400
rows of 64 binary columns they were 20 log units apart after 200 iterations, and plain NumPy with
that same clipping went where StepMix went. Compare log-likelihoods there after few iterations.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

PEERS = {"stepmix": "stepmix", "polca": "pypolca"}  # name on the index: name to import


@dataclass
class Problem:
    """The data and the start; ``tables`` is empty where the peer chooses its own starts."""

    codes: np.ndarray
    states: np.ndarray
    weights: np.ndarray
    tables: list[np.ndarray]

    @property
    def classes(self) -> int:
        return len(self.weights)

    @property
    def missing(self) -> bool:
        return bool((self.codes < 0).any())

    def head(self, rows: int = 1000) -> Problem:
        return Problem(self.codes[:rows], self.states, self.weights, self.tables)


# ---------------------------------------------------------------------------------------------
# The reference: plain NumPy, sharing no code with either peer


def reference_em(problem: Problem, iterations: int) -> float:
    """Log-likelihood after that many EM iterations; missing cells are left out of both steps."""
    weights, tables = problem.weights, problem.tables
    for step in range(iterations + 1):
        joint = np.tile(np.log(weights), (len(problem.codes), 1))
        for column, table in zip(problem.codes.T, tables, strict=True):
            with np.errstate(divide="ignore"):
                joint[column >= 0] += np.log(table)[column[column >= 0]]
        top = joint.max(axis=1, keepdims=True)
        rows = top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
        if step == iterations:
            break
        posterior = np.exp(joint - rows)
        weights = posterior.mean(axis=0)
        counts = [
            np.stack([posterior[column == state].sum(axis=0) for state in range(states)])
            for column, states in zip(problem.codes.T, problem.states, strict=True)
        ]
        tables = [count / count.sum(axis=0) for count in counts]
    return float(rows.sum())


# ---------------------------------------------------------------------------------------------
# StepMix


def stepmix_model(
    problem: Problem, integer_codes: bool, **settings: Any
) -> tuple[Any, np.ndarray, str]:
    """Return the model, the data as it takes them, and the name of its measurement model.

    "binary" where every column has two states, else "categorical", each in its "_nan" form only
    where cells are missing. For "categorical" the one-hot matrix is made here, once, which StepMix
    offers as integer_codes=False; by default it makes that matrix again in every E and M step.
    """
    from sklearn.exceptions import ConvergenceWarning
    from stepmix.stepmix import StepMix

    warnings.simplefilter("ignore", ConvergenceWarning)

    class Instrumented(StepMix):
        """StepMix, from a given start if there is one, noting when each E step begins."""

        start: np.ndarray | None = None

        def _initialize_parameters(self, X: Any, random_state: Any) -> None:
            if self.start is None:
                super()._initialize_parameters(X, random_state)
                return
            self.weights_ = problem.weights.copy()
            self._initialize_parameters_measurement(None, random_state, init_emission=False)
            self._mm.parameters["pis"] = self.start.copy()

        def _e_step(self, *args: Any, **kwargs: Any) -> Any:
            self.clock.append(time.perf_counter())
            return super()._e_step(*args, **kwargs)

    rows, columns = problem.codes.shape
    X = np.where(problem.codes < 0, np.nan, problem.codes.astype(float))
    binary = bool((problem.states == 2).all())
    params = None
    if not binary:
        width = int(problem.states.max())
        params = {"max_n_outcomes": width, "total_outcomes": int(problem.states.sum())}
        if not integer_codes:
            params["integer_codes"] = False
            hot = (X[:, :, None] == np.arange(width)).astype(float)
            hot[problem.codes < 0] = np.nan
            X = hot.reshape(rows, columns * width)
    name = ("binary" if binary else "categorical") + ("_nan" if problem.missing else "")
    model = Instrumented(
        problem.classes,
        measurement=name,
        measurement_params=params,
        progress_bar=0,
        **settings,
    )
    model.clock = []
    if problem.tables and binary:
        model.start = np.stack([table[1] for table in problem.tables], axis=1)
    elif problem.tables:
        model.start = np.concatenate(
            [np.pad(table, ((0, width - len(table)), (0, 0))) for table in problem.tables]
        ).T
    return model, X, name


def stepmix_iterations(
    problem: Problem, iterations: int, repeats: int, integer_codes: bool
) -> dict[str, Any]:
    head = problem.head()
    model, X, _ = stepmix_model(head, integer_codes, max_iter=2, abs_tol=0.0)
    model.fit(X)  # whatever is loaded or set up on first use
    model, X, name = stepmix_model(problem, integer_codes, max_iter=iterations, abs_tol=0.0)
    trials = []
    for _ in range(repeats):
        model.clock = []
        model.fit(X)
        # One E step per iteration, and one more for the final log-likelihood
        if len(model.clock) != iterations + 1:
            raise RuntimeError(f"{len(model.clock) - 1} iterations were run, not {iterations}")
        trials.append(model.clock[-1] - model.clock[0])
    layout = (
        "columns as they are" if name.startswith("binary") else "one-hot matrix made beforehand"
    )
    if integer_codes and name.startswith("categorical"):
        layout = "integer codes (its default), one-hot encoded by it in every E and M step"
    return {
        "seconds": min(trials),
        "seconds_per_iteration": min(trials) / iterations,
        "log_likelihood": float(model.lower_bound_buffer_[-1]) * len(X),
        "trials": trials,
        "note": f"measurement={name!r}, {layout}; time from the beginning of the first E step to"
        " the beginning of the E step after the last M step; smallest of the trials; StepMix clips"
        " probabilities to [1e-15, 1 - 1e-15]",
    }


def stepmix_starts(problem: Problem, starts: int, seed: int, integer_codes: bool) -> dict[str, Any]:
    problem = Problem(problem.codes, problem.states, problem.weights, [])
    model, X, name = stepmix_model(problem, integer_codes, n_init=starts, random_state=seed)
    begun = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "log_likelihood": float(model.score(X)) * len(X),
        # One more E step per start, and one in score()
        "iterations": len(model.clock) - starts - 1,
        "iterations_best": int(model.n_iter_),
        "note": f"measurement={name!r}; the whole of fit(): validation, starts, EM; defaults:"
        f" {model.max_iter} iterations at most, mean log-likelihood gaining under {model.abs_tol};"
        " iterations: over all starts",
    }


# ---------------------------------------------------------------------------------------------
# polca


def polca_run(problem: Problem, theta: np.ndarray, columns: np.ndarray, maxiter: int) -> Any:
    """Return (seconds, result) of fit_em, the loop in C++; ``columns`` are codes from 1, 0 missing.

    A tolerance of 0 never stops it, so that exactly maxiter iterations are run.
    """
    from pypolca import Data, fit_em

    data = Data()
    data.y = columns
    data.x = np.ones((len(columns), 1))
    data.num_choices = [int(s) for s in problem.states] + [1] * (
        columns.shape[1] - len(problem.states)
    )
    begun = time.perf_counter()
    result = fit_em(
        data, problem.classes, maxiter=maxiter, tol=0.0, probs_start=theta, calc_se=False
    )
    seconds = time.perf_counter() - begun
    if result.iterations != maxiter:
        raise RuntimeError(f"{result.iterations} iterations were run, not {maxiter}")
    return seconds, result


def polca_iterations(
    problem: Problem, iterations: int, repeats: int, integer_codes: bool
) -> dict[str, Any]:
    del integer_codes  # it knows no other
    columns = (problem.codes + 1).astype(np.int32)
    tables = [table.T for table in problem.tables]  # (k, states)
    # fit_em takes start tables but always begins from equal class weights. Class weights w are the
    # same as equal ones and one more factor w_r in row i's likelihood: it goes into the table of a
    # column that is always observed. The first M step normalises it away.
    tilt = problem.weights[:, None] * problem.classes
    uniform = bool(np.allclose(tilt, 1.0, rtol=1e-13))
    observed = np.flatnonzero((problem.codes >= 0).all(axis=0))
    exact, extra = list(tables), False
    if not uniform and len(observed):
        exact[observed[0]] = exact[observed[0]] * tilt
    elif not uniform:
        exact, extra = [*tables, tilt], True  # no such column: one more, constant, not timed

    theta = np.concatenate(tables if extra else exact, axis=1).ravel()
    longer = max(iterations, 2)
    polca_run(problem.head(), theta, columns[:1000], 2)
    trials, result = [], None
    for _ in range(repeats):
        short, one = polca_run(problem, theta, columns, 1)
        long, many = polca_run(problem, theta, columns, longer)
        trials.append((short, long))
        result = one if iterations == 1 else many
    if extra:
        wider = np.concatenate([columns, np.ones((len(columns), 1), np.int32)], axis=1)
        _, result = polca_run(problem, np.concatenate(exact, axis=1).ravel(), wider, iterations)
    each = (min(t[1] for t in trials) - min(t[0] for t in trials)) / (longer - 1)
    start = (
        "start weights by one more constant column, in a run of its own that is not timed (the"
        " timed runs start from equal weights)"
        if extra
        else "start weights as the file's"
    )
    return {
        "seconds": each * iterations,
        "seconds_per_iteration": each,
        "log_likelihood": float(result.loglik),
        "trials": [long for _, long in trials],
        "note": f"fit_em, the C++ loop, without standard errors: time of {longer} iterations less"
        f" time of 1, over {longer - 1} (smallest of the trials each); {start}",
    }


def polca_starts(problem: Problem, starts: int, seed: int, integer_codes: bool) -> dict[str, Any]:
    del integer_codes
    import polars as pl
    import pypolca.api

    names = [f"Y{j}" for j in range(problem.codes.shape[1])]
    cells = {
        name: pl.Series(column + 1, dtype=pl.Int32).replace(0, None)
        for name, column in zip(names, problem.codes.T.astype(int), strict=True)
    }
    frame = pl.DataFrame(cells)
    counts: list[int] = []
    inner = pypolca.api.fit_em

    def counted(*args: Any, **kwargs: Any) -> Any:
        result = inner(*args, **kwargs)
        counts.append(result.iterations)
        return result

    pypolca.api.fit_em = counted
    formula = f"cbind({', '.join(names)}) ~ 1"
    begun = time.perf_counter()
    best = pypolca.api.fit(
        formula, frame, problem.classes, na_rm=False, nrep=starts, seed=seed, calc_se=False
    )
    seconds = time.perf_counter() - begun
    pypolca.api.fit_em = inner
    return {
        "seconds": seconds,
        "log_likelihood": best.loglik,
        "iterations": sum(counts),
        "iterations_best": best.iterations,
        "note": "the whole of fit() without standard errors; defaults: 1000 iterations at most,"
        " total log-likelihood gaining under 1e-10; iterations: over all starts",
    }


# ---------------------------------------------------------------------------------------------

ITERATIONS = {"stepmix": stepmix_iterations, "polca": polca_iterations}
STARTS = {"stepmix": stepmix_starts, "polca": polca_starts}


def why_not(peer: str) -> str | None:
    """Say why the peer cannot be run here, if so."""
    try:
        import_module(PEERS[peer])
    except ImportError as error:
        return f"not importable here: {error}"
    return None


def run(peer: str, path: Path, repeats: int, integer_codes: bool, check: bool) -> dict[str, Any]:
    reason = why_not(peer)
    if reason:
        return {"peer": peer, "skipped": reason}
    with np.load(path) as file:
        mode = str(file["mode"])
        columns = file["codes"].shape[1]
        tables = [file[f"theta_{j}"] for j in range(columns)] if mode == "iterations" else []
        problem = Problem(file["codes"], file["states"], file["weights"], tables)
        number = {
            key: int(file[key]) for key in ("iterations", "starts", "seed") if key in file.files
        }
    if (problem.codes < 0).all(axis=0).any():
        return {"peer": peer, "skipped": "a column has no observed cell"}
    result: dict[str, Any] = {"peer": peer, "version": version(peer), "mode": mode}
    if mode == "iterations":
        iterations = number["iterations"]
        result["iterations"] = iterations
        result |= ITERATIONS[peer](problem, iterations, repeats, integer_codes)
        if check:
            result["numpy_log_likelihood"] = reference_em(problem, iterations)
    elif mode == "starts":
        result["starts"] = number["starts"]
        result |= STARTS[peer](problem, number["starts"], number["seed"], integer_codes)
    else:
        raise SystemExit(f"unknown mode {mode!r}")
    if not math.isfinite(result["log_likelihood"]):
        return {"peer": peer, "skipped": f"its log-likelihood is {result['log_likelihood']}"}
    return result


def simulate(
    rng: np.random.Generator, rows: int, states: np.ndarray, classes: int, missing: float
) -> Problem:
    """Data from a random latent class model, and another such model as the start."""

    def model() -> tuple[np.ndarray, list[np.ndarray]]:
        tables = [rng.dirichlet(np.ones(s), classes).T for s in states]
        return rng.dirichlet(np.ones(classes)), tables

    weights, tables = model()
    member = rng.choice(classes, size=rows, p=weights)
    codes = np.empty((rows, len(states)), np.int8)
    for j, table in enumerate(tables):
        above = rng.random(rows)[:, None] > table.cumsum(axis=0)[:-1, member].T
        codes[:, j] = above.sum(axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    return Problem(codes, np.asarray(states), *model())


def self_check(tolerance: float = 1e-6) -> bool:
    """Compare both peers with the reference; return whether all comparisons agree."""
    rng = np.random.default_rng(20)
    compared = failed = 0
    for states in ([2] * 8, [3] * 6, [2, 3, 4, 2, 5, 3]):
        for missing in (0.0, 0.25):
            for equal in (False, True):
                problem = simulate(rng, 300, np.array(states), 3, missing)
                if equal:
                    problem.weights = np.full(3, 1 / 3)
                for iterations in (1, 25):
                    expected = reference_em(problem, iterations)
                    line: dict[str, Any] = {"states": states, "missing": missing}
                    line |= {"equal_weights": equal, "iterations": iterations, "numpy": expected}
                    for peer in PEERS:
                        reason = why_not(peer)
                        if reason:
                            line[peer] = reason
                            continue
                        for integer_codes in (False, True) if peer == "stepmix" else (False,):
                            got = ITERATIONS[peer](problem, iterations, 1, integer_codes)
                            error = abs(got["log_likelihood"] / expected - 1)
                            compared += 1
                            failed += not error <= tolerance
                            name = peer + "_integer_codes" * integer_codes
                            line[f"{name}_relative_error"] = error
                    print(json.dumps(line))
    verdict = "no peer to compare" if not compared else "failed" if failed else "passed"
    print(json.dumps({"self_check": verdict, "compared": compared, "failed": failed}))
    return verdict == "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("peer", nargs="?", choices=sorted(PEERS))
    parser.add_argument("input", nargs="?", type=Path, help="INPUT.npz")
    parser.add_argument("--repeats", type=int, default=3, help="trials (mode iterations)")
    parser.add_argument(
        "--integer-codes",
        action="store_true",
        help="StepMix: let it one-hot encode in every step, as it does by default",
    )
    parser.add_argument(
        "--check", action="store_true", help="add the log-likelihood of plain NumPy (slow)"
    )
    parser.add_argument(
        "--self-check", action="store_true", help="compare the peers with plain NumPy, and stop"
    )
    options = parser.parse_args()
    if options.self_check:
        return 0 if self_check() else 1
    if options.peer is None or options.input is None:
        parser.error("a peer and an input are needed")
    result = run(options.peer, options.input, options.repeats, options.integer_codes, options.check)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
