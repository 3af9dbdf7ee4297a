"""The Python interface: fits, scores, selections, and what describes them."""

import functools

import material as m
import numpy as np
import plain
import polars as pl

import lacunet

QUICK = {"starts": 8, "threads": 1}
SCHEDULES = ("default", "paper", "thorough", "highest")


def fit_by_schedule(schedule: str):
    survey = lacunet.load_dataset("survey")
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    rows = lacunet.simulate(model, 200, seed=2, missing_rate=0.1)
    how = {"starts": 16, "threads": 1, "schedule": schedule}
    return {
        "survey": plain.fit(lacunet.fit(survey, 4, **how)),
        "survey ml": plain.fit(lacunet.fit(survey, 3, estimate="ml", **how)),
        "network": plain.fit(lacunet.fit(rows, network=model.network, **how)),
    }


def fit_by_prior():
    table = lacunet.load_dataset("carcinoma")
    leaves = {name: [[1.0, 2.0], [2.5, 1.5]] for name in "ABCDEF"}
    priors = {
        "number": 1.5,
        "k2": "k2",
        "bdeu": "bdeu:12",
        "tables": {"class": [3.0, 2.0], "G": 1.2, **leaves},
    }
    return {
        name: plain.selection(
            lacunet.select(
                table, 2, alpha=alpha, scores="all" if name == "tables" else "usual", **QUICK
            )
        )
        for name, alpha in priors.items()
    }


def fit_below_one():
    """Exponents below 1: no maximum of the posterior, so ML, and evidence all the same."""
    table = lacunet.load_dataset("values")
    how = {"alpha": 0.5, "estimate": "ml", **QUICK}
    return plain.selection(lacunet.select(table, [1, 2], scores="all", **how))


def fit_weights():
    """The same rows with whole, with fractional and with zero weights."""
    model = lacunet.random_model(2, 5, leaf_states=3, seed=2)
    rows = lacunet.simulate(model, 120, seed=3, missing_rate=0.15)
    rng = np.random.default_rng(5)
    weights = {
        "whole": rng.integers(1, 5, 120).astype(float),
        "fractional": rng.gamma(2.0, 0.7, 120).round(3),
        "some zero": np.where(np.arange(120) % 7 == 0, 0.0, 1.25),
    }
    return {
        name: plain.selection(
            lacunet.select(
                rows.with_columns(pl.Series("w", w)),
                [1, 2, 3],
                weights="w",
                scores="usual",
                **QUICK,
            )
        )
        for name, w in weights.items()
    }


def fit_two_hidden():
    model = m.drawn(*m.PAIR, "F G", seed=1)
    rows = lacunet.simulate(model, 400, seed=2)
    return {
        estimate: plain.fit(lacunet.fit(rows, network=model.network, estimate=estimate, **QUICK))
        for estimate in ("map", "ml")
    }


def fit_hidden_chain():
    model = m.drawn(*m.CHAIN, "P Q R", seed=1)
    rows = lacunet.simulate(model, 300, seed=2, missing_rate=0.2)
    found = lacunet.fit(rows, network=model.network, hidden={"Q": 3}, alpha="bdeu:10", **QUICK)
    return {"rows": plain.frame(rows), "fit": plain.fit(found)}


def fit_hidden_chain_fractional():
    model = m.drawn(*m.CHAIN, "P Q R", seed=1)
    rows = lacunet.simulate(model, 150, seed=2, missing_rate=0.2)
    rows = rows.with_columns(pl.Series("w", np.linspace(0.1, 2.9, 150).round(2)))
    return plain.fit(lacunet.fit(rows, network=model.network, weights="w", **QUICK))


def fit_random_graphs():
    found = {}
    for seed in (1, 2, 3):
        model = m.random_dag(9, 2, seed)
        rows = lacunet.simulate(model, 250, seed=seed, missing_rate=0.15)
        found[str(seed)] = plain.fit(lacunet.fit(rows, network=model.network, **QUICK))
    return found


def fit_nothing_hidden():
    """No hidden variable: exact where rows are complete, EM where there are holes."""
    model = m.random_dag(6, 0, 5)
    found = {}
    for rate in (0.0, 0.25):
        rows = lacunet.simulate(model, 60, seed=1, missing_rate=rate)
        chosen = lacunet.compare(rows, {"it": model}, scores="all", alpha="k2", **QUICK)
        found[str(rate)] = plain.selection(chosen)
    return found


def alarm():
    """A network of 37 variables, three of them never seen, and holes: exact where it is large."""
    model = m.alarm()
    hidden = ["LVEDVOLUME", "VENTLUNG", "CATECHOL"]
    rows = lacunet.simulate(model, 150, seed=1, missing_rate=0.05).drop(hidden)
    found = lacunet.fit(rows, network=model, hidden=hidden, starts=4, threads=1)
    usual = lacunet.score(rows, found.model, threads=1, scores="bic,cs,mled,vb")
    seen = {"HR": "HIGH", "BP": "LOW", "SAO2": "LOW", "CVP": "NORMAL"}
    return {
        "fit": plain.fit(found),
        "score": plain.scores(usual),
        "query": plain.plain(lacunet.query(model, ["HYPOVOLEMIA", "LVFAILURE"], seen)),
        "assigned": plain.assignment(lacunet.assign(rows, found.model, impute=True)),
    }


def select_every_score_with_holes():
    model = lacunet.random_model(3, 5, leaf_states=3, seed=7)
    rows = lacunet.simulate(model, 100, seed=1, missing_rate=0.2)
    return plain.selection(lacunet.select(rows, [1, 2, 3], scores="all", **QUICK))


def select_every_score_ml():
    table = lacunet.load_dataset("carcinoma")
    how = {"scores": "all", "estimate": "ml", "alpha": "k2", "dimension": "rank", **QUICK}
    return plain.selection(lacunet.select(table, [1, 2, 3], **how))


def select_network_every_score():
    model = m.drawn(*m.PAIR, "F G", seed=1)
    rows = lacunet.simulate(model, 60, seed=2, missing_rate=0.1)
    how = {"network": model.network, "hidden": {"F": None, "G": 2}, "scores": "all", **QUICK}
    return plain.selection(lacunet.select(rows, [1, 2], dimension="rank", **how))


def select_by_schedule():
    table = lacunet.load_dataset("myocardial")
    how = {"starts": 16, "threads": 1, "seed": 4}
    return {
        schedule: plain.selection(lacunet.select(table, [1, 2, 3], schedule=schedule, **how))
        for schedule in SCHEDULES
    }


def compare_with_prior():
    collider = m.drawn(*m.COLLIDER, "H G", seed=1)
    other = m.drawn("a>H H>x H>y H>z H>w G>a", m.COLLIDER[1], "H G", seed=1)
    rows = lacunet.simulate(collider, 200, seed=2, missing_rate=0.2)
    networks = {"collider": collider, "classes": other.network}
    how = {"hidden": {"H": 3}, "prior": {"collider": 1.0, "classes": 3.0}, **QUICK}
    found = lacunet.compare(rows, networks, missing_as_state=True, **how)
    return plain.selection(found) | {
        "report": plain.plain(lacunet.information_criteria(found).chosen)
    }


def compare_missing():
    model = m.drawn("H>a H>b H>c H>d a>d", {"H": 2, "a": 2, "b": 3, "c": 2, "d": 2}, "H", seed=3)
    rows = lacunet.simulate(model, 200, seed=1, missing_rate=0.1)
    shy = [
        None if a == "1" and i % 2 else b for i, (a, b) in enumerate(rows.select("a", "b").rows())
    ]
    rows = rows.with_columns(pl.Series("b", shy, dtype=pl.String))
    found = {
        "network": lacunet.compare_missing(rows, network=model, scores="usual", **QUICK),
        "classes": lacunet.compare_missing(rows, 2, both_ways=True, **QUICK),
    }
    return {
        name: {
            "log_bayes_factors": plain.plain(one.log_bayes_factors),
            "columns": [
                plain.plain([c.name, c.missing, c.alone, c.given_others]) for c in one.columns
            ],
            "readings": plain.selection(one.selection),
            "text": m.lines(str(one)),
        }
        for name, one in found.items()
    }


def missing_as_state():
    table = lacunet.load_dataset("survey")
    answered = lacunet.missing_as_state(table)
    fit = lacunet.fit(table, 2, missing_as_state=True, **QUICK)
    path = lacunet.dataset_path("survey")
    statistics = lacunet.fit_statistics(table, fit, missing_as_state=True)
    return {
        "table": plain.table(answered),
        "fit": plain.fit(fit),
        "statistics": plain.statistics(statistics),
        "assigned": plain.assignment(lacunet.assign(path, fit.model, missing_as_state=True)),
    }


def score_models():
    """At exactly given parameters, and after EM from there; of classes, and of a network."""
    classes = lacunet.random_model(3, 6, leaf_states=3, seed=1)
    rows = lacunet.simulate(classes, 60, seed=2, missing_rate=0.1)
    network = m.drawn(*m.CHAIN, "P Q R", seed=2)
    drawn = lacunet.simulate(network, 40, seed=3, missing_rate=0.1)
    how = {"scores": "all", "threads": 1}
    return {
        "classes": plain.scores(lacunet.score(rows, classes, **how)),
        "refit": plain.scores(lacunet.score(rows, classes, refit=True, estimate="ml", threads=1)),
        "network": plain.scores(lacunet.score(drawn, network, dimension="rank", **how)),
        "network refit": plain.scores(lacunet.score(drawn, network, refit=True, threads=1)),
    }


def assign_and_query():
    table = lacunet.load_dataset("survey")
    fitted = lacunet.fit(table, 3, **QUICK).model
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    rows = lacunet.simulate(model, 60, seed=2, missing_rate=0.3)
    asked = {
        "nothing": lacunet.query(model, "H"),
        "row": lacunet.query(model, ["H", "G"], {"x": 1, "w": 2}),
        "rows": lacunet.query(model, ["G", "H"], rows),
        "three": lacunet.query(model, ["H", "a", "y"], {"z": 0}),
    }
    return {
        "survey": plain.assignment(lacunet.assign(lacunet.dataset_path("survey"), fitted)),
        "imputed": plain.assignment(lacunet.assign(rows, model, impute=True)),
        "also hidden": plain.assignment(lacunet.assign(rows, model, hidden=["a"])),
        "query": plain.plain(asked),
    }


def intervals_of_classes():
    table = lacunet.load_dataset("carcinoma")
    found = {}
    for estimate in ("map", "ml"):
        fit = lacunet.fit(table, 3, estimate=estimate, **QUICK)
        found[estimate] = {
            "hessian": plain.intervals(lacunet.intervals(table, fit, level=0.8)),
            "bootstrap": plain.intervals(
                lacunet.intervals(table, fit, bootstrap=8, seed=3, threads=1)
            ),
        }
    return found


def intervals_of_a_network():
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    rows = lacunet.simulate(model, 300, seed=2, missing_rate=0.1)
    fit = lacunet.fit(rows, network=model.network, alpha=1.5, **QUICK)
    return {
        "hessian": plain.intervals(lacunet.intervals(rows, fit)),
        "bootstrap": plain.intervals(lacunet.intervals(rows, fit.model, bootstrap=5, threads=1)),
    }


def statistics():
    survey = lacunet.load_dataset("survey")
    carcinoma = lacunet.load_dataset("carcinoma")
    model = m.drawn(*m.PAIR, "F G", seed=1)
    rows = lacunet.simulate(model, 400, seed=2)
    fit = functools.partial(lacunet.fit, estimate="ml", **QUICK)
    return {
        "survey": plain.statistics(lacunet.fit_statistics(survey, fit(survey, 3))),
        "carcinoma": plain.statistics(lacunet.fit_statistics(carcinoma, fit(carcinoma, 2))),
        "network": plain.statistics(
            lacunet.fit_statistics(rows, fit(rows, network=model.network).model)
        ),
    }


def information_criteria():
    found = lacunet.select(lacunet.load_dataset("carcinoma"), [1, 2, 3, 4], estimate="ml", **QUICK)
    criteria = lacunet.information_criteria(found)
    return {
        "chosen": plain.plain(criteria.chosen),
        "candidates": {
            str(c.candidate.label): {
                "criteria": plain.plain(c.criteria),
                "classification": [plain.classification(v) for v in c.classification],
            }
            for c in criteria.candidates
        },
        "text": m.lines(str(criteria)),
    }


def traces():
    table = lacunet.load_dataset("carcinoma")
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    rows = lacunet.simulate(model, 150, seed=2, missing_rate=0.1)
    found = {}
    for schedule in SCHEDULES:
        how = {"schedule": schedule, "starts": 8, "threads": 1}
        found[schedule] = plain.traces(lacunet.em_traces(table, lacunet.fit(table, 3, **how)))
    network = lacunet.fit(rows, network=model.network, **QUICK)
    found["network"] = plain.traces(lacunet.em_traces(rows, network, starts=4))
    return found


def likelihood_ratio_test():
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    rows = lacunet.simulate(model, 100, seed=2, missing_rate=0.1)
    how = {"replicates": 6, "starts": 4, "threads": 1}
    of_network = lacunet.likelihood_ratio_test(
        rows, 1, network=model.network, hidden={"H": None, "G": 2}, **how
    )
    classes = lacunet.likelihood_ratio_test(lacunet.load_dataset("values"), 2, seed=5, **how)
    return {"network": plain.ratio_test(of_network), "classes": plain.ratio_test(classes)}


def match_classes():
    table = lacunet.load_dataset("survey")
    one = lacunet.fit(table, 4, seed=1, **QUICK)
    other = lacunet.random_model(4, 8, seed=2)
    network = m.drawn(*m.PAIR, "F G", seed=1)
    turned = network.permuted(1, [2, 0, 1]).permuted(0, [1, 0])
    return {
        "fit": plain.fit(lacunet.match_classes(one, one.model.permuted(0, [3, 1, 0, 2]))),
        "classes": plain.model(lacunet.match_classes(other.permuted(0, [1, 3, 2, 0]), other)),
        "network": plain.model(lacunet.match_classes(turned, network)),
    }


def learn_structure():
    model = m.random_dag(8, 0, 4)
    rows = lacunet.simulate(model, 400, seed=2)
    ways = {
        "bdeu": {},
        "k2": {"alpha": "k2"},
        "parents": {"alpha": "bdeu:5", "max_parents": 2},
        "restarts": {"restarts": 5, "seed": 3, "alpha": 1.2},
        "climb": {"sweeps": 0, "restarts": 0, "seed": 1},
        "exact": {"exact": True},
    }
    found = {name: lacunet.learn_structure(rows, **how) for name, how in ways.items()}
    return {
        name: {
            "log_bd": one.log_bd,
            "parents": [list(p) for p in one.network.parents],
            "families": plain.plain(one.families),
            "steps": one.steps,
            "scored": one.scored,
            "text": str(one).splitlines(),
        }
        for name, one in found.items()
    }


def draw():
    random = lacunet.random_model(4, 6, leaf_states=3, seed=9, alpha="bdeu:3")
    network = m.drawn(*m.CHAIN, "Q", seed=4)
    return {
        "random": plain.model(random),
        "rows": plain.frame(lacunet.simulate(random, 300, seed=1, missing_rate=0.25)),
        "network": plain.frame(lacunet.simulate(network, 300, seed=2)),
    }


def threads():
    """The numbers do not depend on the number of threads, so both must stay what they are."""
    survey, values = lacunet.load_dataset("survey"), lacunet.load_dataset("values")
    model = m.drawn(*m.PAIR, "F G", seed=1)
    rows = lacunet.simulate(model, 200, seed=2, missing_rate=0.1)
    found = {}
    for count in (1, 2):
        fit = lacunet.fit(rows, network=model.network, starts=16, threads=count)
        measured = lacunet.log_evidence(
            values, 3, method="smc", target=0.2, budget=3600.0, threads=count
        )
        chosen = lacunet.select(survey, [2, 3], starts=16, threads=count)
        test = lacunet.likelihood_ratio_test(values, 1, replicates=6, starts=4, threads=count)
        boot = lacunet.intervals(rows, fit, bootstrap=4, threads=count)
        found[f"{count} threads"] = {
            "fit": plain.fit(fit),
            "measured": plain.measurement(measured),
            "selection": plain.selection(chosen),
            "test": plain.ratio_test(test),
            "intervals": plain.intervals(boot),
        }
    return found


def texts():
    """What `print` shows of every kind of result."""
    table = lacunet.load_dataset("survey")
    fit = lacunet.fit(table, 2, **QUICK)
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    rows = lacunet.simulate(model, 200, seed=2)
    network = lacunet.fit(rows, network=model.network, **QUICK)
    values = lacunet.load_dataset("values")
    shown = {
        "table": table,
        "fit": fit,
        "network": network,
        "selection": lacunet.select(table, [1, 2], **QUICK),
        "scores": lacunet.score(table, fit.model, threads=1),
        "intervals": lacunet.intervals(rows, network),
        "statistics": lacunet.fit_statistics(table, fit),
        "traces": lacunet.em_traces(table, fit),
        "test": lacunet.likelihood_ratio_test(values, 1, replicates=3, starts=2, threads=1),
        "assignment": lacunet.assign(rows, model),
    }
    return {name: m.lines(str(one)) for name, one in shown.items()}


def plots():
    """The places of what is drawn."""
    import matplotlib as mpl

    mpl.use("Agg")
    table = lacunet.load_dataset("carcinoma")
    chosen = lacunet.select(table, [1, 2, 3], **QUICK)
    fit = chosen.best.fit
    axes = {
        "evidence": lacunet.plots.plot_evidence(chosen, span=30.0),
        "posterior": lacunet.plots.plot_posterior(chosen),
        "profiles": lacunet.plots.plot_profiles(fit),
        "trace": lacunet.plots.plot_trace(lacunet.em_traces(table, fit, starts=4)),
    }
    found = {}
    for name, ax in axes.items():
        found[name] = {
            "lines": [plain.plain(np.array(line.get_xydata())) for line in ax.lines],
            "bars": [plain.plain([p.get_x(), p.get_height()]) for p in ax.patches],
            "texts": [text.get_text() for text in ax.texts],
            "labels": [ax.get_xlabel(), ax.get_ylabel(), *plain.plain(ax.get_ylim())],
        }
    mpl.pyplot.close("all")
    return found
