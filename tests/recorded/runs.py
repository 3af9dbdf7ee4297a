"""The recorded runs: lines of the command line, functions of `lacunet`, estimators.

They use public names only, so that they work wherever modules are.
"""

import contextlib
import functools
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lacunet
from recorded.tables import write_inputs
from recorded.trees import as_tree, read_csv

# Commands that have no --json; those that have --threads.
NO_JSON = ("assign", "impute", "simulate", "random", "warm-up", "demo")
THREADS = ("select", "fit", "evidence", "learn", "compare", "lrt", "compare-missing", "impute")
THREADS += ("stack",)
NETWORK_ENDINGS = (".bif", ".xmlbif", ".xdsl")


@dataclass(frozen=True)
class Run:
    """A run by name; `sampled`: its numbers depend on draws, and may move with their order."""

    name: str
    work: Callable[[], Any]
    sampled: bool = False

    def result(self) -> Any:
        """Run in a folder of its own that has the tables; give the result as a tree."""
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = Path(name) / "run"
            shutil.copytree(_inputs(), folder)
            with contextlib.chdir(folder):
                return as_tree(self.work())


@functools.cache
def _inputs() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="recorded-"))
    write_inputs(folder)
    for name in ("carcinoma", "myocardial"):
        shutil.copy(lacunet.dataset_path(name), folder / f"{name}.csv")
    return folder


def run_lines(text: str) -> Any:
    """Run command lines, one after the other, and give what they print and write."""
    results = {}
    for i, line in enumerate(x.strip() for x in text.strip().splitlines()):
        words = shlex.split(line)
        if words[0] in THREADS and "--threads" not in words:
            words[1:1] = ["--threads", "1"]
        if words[0] not in NO_JSON and "--tables" not in words:
            words.insert(1, "--json")
        before = {str(p): p.stat().st_mtime_ns for p in Path().rglob("*")}
        code, out, err = run_line(words)
        result: dict[str, Any] = {"code": code}
        if code:
            result["error"] = " ".join(err.split("error: ")[-1].split())
        elif "--json" in words:
            result["json"] = json.loads(out)
        new = [p for p in sorted(Path().rglob("*")) if p.is_file() and _is_new(p, before)]
        result["files"] = {str(p): read_file(p) for p in new}
        results[f"{i + 1} {words[0]}"] = result
    return results


def _is_new(path: Path, before: dict[str, int]) -> bool:
    return before.get(str(path)) != path.stat().st_mtime_ns


def run_line(words: list[str]) -> tuple[int, str, str]:
    """Run the program in this process; give the exit code, stdout and stderr."""
    from lacunet.cli import main

    before, out, err = sys.argv, io.StringIO(), io.StringIO()
    sys.argv = ["lacunet", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def read_file(path: Path) -> Any:
    """Give what a written file holds, as far as it is a result."""
    if path.suffix == ".json":
        return json.loads(path.read_text())
    if path.suffix == ".csv":
        return read_csv(path)
    if path.suffix in NETWORK_ENDINGS:
        return model_tree(lacunet.read_network(path))
    if path.suffix == ".parquet":
        import polars as pl

        return pl.read_parquet(path)
    return "written" if path.stat().st_size else "empty"


def model_tree(model: Any) -> Any:
    """Give the variables, parents and tables of a model."""
    network = model.network
    names = [v.name for v in network.variables]
    return {
        "parents": {
            n: [names[p] for p in of] for n, of in zip(names, network.parents, strict=True)
        },
        "tables": {
            n: model.table(n) for n in names if len(network.variables[names.index(n)].states)
        },
        "theta": model.theta,
    }


def read_lines() -> Iterator[tuple[str, bool, str]]:
    """Give the runs of lines.txt: name, whether sampled, command lines."""
    text = Path(__file__).with_name("lines.txt").read_text(encoding="utf-8")
    for part in text.split("\n[")[1:]:
        head, _, lines = part.partition("]\n")
        name, _, sampled = head.partition(", ")
        yield name, bool(sampled), lines


def _frame(name: str) -> Any:
    import pandas as pd

    return pd.read_csv(f"{name}.csv")


def _public(estimator: Any, X: Any, *methods: str) -> Any:
    """Give the public attributes that end with an underscore, and what methods say of rows."""
    names = [n for n in dir(estimator) if n.endswith("_") and not n.startswith("_")]
    skipped = (
        "fit_",
        "model_",
        "network_",
        "selection_",
        "stack_",
        "learned_",
        "tree_",
        "cell_stack_",
    )
    result = {n: getattr(estimator, n, None) for n in names if n not in skipped}
    plain = {n: v for n, v in result.items() if _is_plain(v)}
    return plain | {m: getattr(estimator, m)(X) for m in methods}


def _is_plain(value: Any) -> bool:
    import numpy as np

    if isinstance(value, dict):
        return all(_is_plain(x) for x in value.values())
    if isinstance(value, list | tuple):
        return all(_is_plain(x) for x in value)
    return isinstance(value, str | int | float | bool | np.ndarray | np.generic | type(None))


def _classes(name: str, columns: list[str] | None = None, **options: Any) -> Any:
    frame = _frame(name) if columns is None else _frame(name)[columns]
    model = lacunet.LatentClassModel(2, n_init=3, random_state=0, **options).fit(frame)
    results = _public(model, frame, "predict_proba", "predict", "score_samples", "impute", "score")
    return results | {"profiles": model.profiles_frame(), "sample": model.sample(5)}


def class_model() -> Any:
    model = _classes("holes")
    frame = _frame("holes")
    fitted = lacunet.LatentClassModel(2, n_init=3, random_state=0).fit(frame)
    return model | {"aic": fitted.aic(frame), "bic": fitted.bic(frame)}


def class_model_numbers() -> Any:
    return _classes("people", kinds={"visits": "poisson", "agree": "ordinal"})


def class_model_full() -> Any:
    return _classes("people", ["height", "weight", "sex"], covariance="full", plug_in=True)


def class_model_covariates() -> Any:
    frame = _frame("predicted")[["A", "B", "C", "D", "age", "region"]]
    model = lacunet.LatentClassModel(2, covariates=["age", "region"], n_init=2, random_state=0)
    model.fit(frame)
    results = _public(model, frame, "predict_proba", "score_samples")
    return results | {
        "estimate": model.coefficients_.estimate,
        "stderr": model.coefficients_.stderr,
    }


def class_model_survey() -> Any:
    frame = _frame("survey")
    model = lacunet.LatentClassModel(
        2, strata="region", clusters="village", n_init=2, random_state=0
    ).fit(frame.drop(columns="w"), sample_weight=frame["w"])
    return {"sizes": model.class_sizes_, "stderr": model.intervals().stderr}


def selector() -> Any:
    frame = _frame("answers")
    model = lacunet.LatentClassSelector(range(1, 4), quick=True, n_init=2, random_state=0)
    return _public(model.fit(frame), frame, "predict_proba", "predict", "score_samples")


def selector_average() -> Any:
    frame = _frame("answers")
    model = lacunet.LatentClassSelector(
        range(1, 4), quick=True, average=True, prior="geometric:0.3", n_init=2, random_state=0
    )
    return _public(model.fit(frame), frame, "predict_proba", "score_samples")


def network_model() -> Any:
    frame = _frame("two_causes")
    model = lacunet.BayesianNetworkModel(
        "X[2] -> Y[2]; X -> A B C D; Y -> E F G", n_init=2, random_state=0
    )
    return _public(model.fit(frame), frame.head(10), "predict_proba", "score_samples")


def network_model_learned() -> Any:
    frame = _frame("chain_holes")
    model = lacunet.BayesianNetworkModel(structure="learn", random_state=0).fit(frame)
    return _public(model, frame, "score_samples", "impute") | {"model": model_tree(model.model_)}


def tree_model() -> Any:
    frame = _frame("two_causes")
    model = lacunet.LatentTreeModel(random_state=0).fit(frame)
    return _public(model, frame.head(10), "score_samples") | {"model": model_tree(model.model_)}


def stacked_model() -> Any:
    frame = _frame("six")
    model = lacunet.StackedModel(folds=2, random_state=0).fit(frame)
    return _public(model, frame, "score_samples", "impute")


def classifier() -> Any:
    frame = _frame("chain_holes")
    known = frame["D"].notna()
    model = lacunet.Classifier(random_state=0)
    model.fit(frame[known].drop(columns="D"), frame["D"][known])
    return _public(model, frame.drop(columns="D").head(12), "predict_proba", "predict")


def imputer() -> Any:
    frame = _frame("six")
    model = lacunet.Imputer(random_state=0).fit(frame)
    return {"filled": model.transform(frame), "cells": model.predict_cells(frame)}


def functions_fit() -> Any:
    table = lacunet.read_table("holes.csv")
    fit = lacunet.fit(table, 2, starts=3, threads=1)
    like = lacunet.match_classes(lacunet.fit(table, 2, starts=2, seed=3, threads=1), like=fit)
    statistics = lacunet.fit_statistics(table, fit)
    traces = lacunet.em_traces(table, fit, starts=2)
    return {
        "model": model_tree(fit.model),
        "log_lik": fit.log_lik,
        "like": model_tree(like.model),
        "criteria": statistics.criteria,
        "g2": statistics.goodness.g2,
        "traces": traces.to_frame(),
        "intervals": lacunet.intervals(table, fit, threads=1).to_frame(),
        "rows": lacunet.log_likelihoods("holes.csv", fit),
        "tails": lacunet.anomalies("new.csv", fit, draws=200),
        "tables": str(lacunet.paper_tables(fit, lacunet.intervals(table, fit, threads=1))),
    }


def functions_select() -> Any:
    selection = lacunet.select("answers.csv", range(1, 4), starts=2, quick=True, threads=1)
    criteria = lacunet.information_criteria(selection)
    return {
        "states": selection.states,
        "posterior": selection.posterior(),
        "frame": selection.to_frame(),
        "criteria": criteria.to_frame(),
        "text": str(selection),
    }


def functions_model() -> Any:
    model = lacunet.fit("chain.csv", network="A -> B; B -> C; A C -> D").model
    lacunet.write_model(model, "m.json")
    lacunet.write_network(model, "m.xdsl", report=lambda _: None)
    probable = lacunet.most_probable(model, evidence={"A": "yes"})
    return {
        "query": lacunet.query(model, ["A", "D"], {"B": "yes"}),
        "rows": lacunet.query(model, "A", _frame("chain").head(5)),
        "do": lacunet.query(model, "D", do={"B": "no"}),
        "soft": lacunet.query(model, "A", {"B": {"yes": 0.8, "no": 0.2}}),
        "probable": [probable.states, probable.log_probability],
        "separated": lacunet.d_separated(model, "A", "C", given="B"),
        "cpdag": lacunet.cpdag(model).compelled,
        "networkx": model_tree(lacunet.from_networkx(lacunet.to_networkx(model))),
        "json": model_tree(lacunet.read_model("m.json")),
        "xdsl": model_tree(lacunet.read_network("m.xdsl")),
        "simulated": lacunet.simulate(model, 8, seed=1, missing_rate=0.2),
    }


def functions_graphs() -> Any:
    learned = lacunet.learn_structure("chain.csv", threads=1)
    other = lacunet.learn_structure("chain.csv", max_parents=1, alpha=1, threads=1)
    sure = lacunet.edge_certainty("chain.csv", threads=1)
    distances = lacunet.graph_distances({"other": other.network}, learned.network)
    return {
        "model": model_tree(learned.model),
        "log_evidence": learned.log_evidence,
        "hamming": lacunet.structural_hamming_distance(other.network, learned.network),
        "f1": lacunet.edge_f1(other.network, learned.network),
        "distances": [distances.hamming, distances.f1],
        "arrows": sure.arrows,
        "edges": sure.to_frame(),
        "text": str(learned),
    }


def functions_covariates() -> Any:
    regression = lacunet.class_regression(
        "predicted.csv", 2, "~ age + region", columns=list("ABCD"), starts=2, threads=1
    )
    steps = lacunet.three_step(
        "predicted.csv",
        lacunet.fit("predicted.csv", 2, columns=list("ABCD"), starts=2, threads=1),
        outcomes=["income", "votes"],
        covariates=["age"],
    )
    return {
        "estimate": regression.coefficients.estimate,
        "stderr": regression.coefficients.stderr,
        "log_lik": regression.log_lik,
        "worth": len(regression.worth),
        "income": steps.outcomes["income"].estimate,
        "p": steps.outcomes["income"].equality.p_value,
        "steps": steps.coefficients.estimate,
    }


def functions_evidence() -> Any:
    measured = lacunet.log_evidence("six.csv", 2, method="exact", threads=1)
    complete = lacunet.log_evidence("chain.csv", network="A -> B; B -> C", threads=1)
    fit = lacunet.fit("holes.csv", 2, starts=2, threads=1)
    scores = lacunet.score("holes.csv", fit.model, scores="all", threads=1)
    return {
        "exact": [measured.value, measured.one_labelling, measured.verdict],
        "complete": complete.value,
        "scores": {n: [e.value, dict(e.terms)] for n, e in scores.evidence.items()},
    }


def functions_rows() -> Any:
    table = lacunet.read_table("informative.csv")
    assignment = lacunet.assign(
        "new.csv", lacunet.fit("holes.csv", 2, starts=2, threads=1), impute=True
    )
    as_state = lacunet.missing_as_state(table)
    forecast = lacunet.forecast(table, [1, 2], threads=1)
    return {
        "assigned": assignment.to_frame(),
        "states": [list(c.states) for c in as_state.columns],
        "codes": as_state.codes,
        "forecast": [[f.label, f.components, f.parameters] for f in forecast.fits],
        "table": [table.rows, table.distinct_rows, table.counts],
    }


def functions_groups() -> Any:
    comparison = lacunet.compare_groups(
        "groups.csv", 2, "country", columns=list("ABCD"), starts=2, quick=True, threads=1
    )
    return {"level": str(comparison.level), "free": comparison.free, "text": str(comparison)}


def functions_effects() -> Any:
    effects = lacunet.add_direct_effects("pairs.csv", 2, starts=2, threads=1)
    return {"model": model_tree(effects.fit.model), "text": str(effects)}


def functions_impute() -> Any:
    imputed = lacunet.impute("six.csv", model="classes", imputations=2, threads=1)
    stack = lacunet.stack("six.csv", folds=2, only="graphs", threads=1)
    return {
        "filled": [as_tree(t) for t in imputed.all_filled],
        "weights": [[m.name, m.weight] for m in stack.ensemble.members],
        "held_out": stack.held_out,
        "together": stack.together,
    }


def _runs() -> Iterator[Run]:
    for name, sampled, lines in read_lines():
        yield Run(name, functools.partial(run_lines, lines), sampled)
    for work in (
        *(class_model, class_model_numbers, class_model_full, class_model_covariates),
        *(class_model_survey, selector, selector_average, network_model, network_model_learned),
        *(tree_model, stacked_model, classifier, imputer, functions_fit, functions_select),
        *(functions_model, functions_graphs, functions_covariates, functions_evidence),
        *(functions_rows, functions_groups, functions_effects, functions_impute),
    ):
        yield Run(work.__name__.replace("_", "-"), work)


RUNS = tuple(_runs())
os.environ.setdefault("COLUMNS", "120")
