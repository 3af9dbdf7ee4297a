"""The estimators for scikit-learn."""

import material as m
import numpy as np
import pandas as pd
import plain

import lacunet


def survey() -> pd.DataFrame:
    """Texts and holes, as pandas reads them."""
    return pd.read_csv(lacunet.dataset_path("survey"), dtype=object)


def carcinoma() -> tuple[pd.DataFrame, pd.Series]:
    data = pd.read_csv(lacunet.dataset_path("carcinoma"))
    return data.drop(columns="count"), data["count"]


def described(estimator, X, rows: int = 200) -> dict:
    """What an estimator learned, and everything that it can be asked."""
    drawn, labels = estimator.sample(30)
    part = X[:rows]
    return plain.plain(
        {
            "fit": plain.fit(estimator.fit_),
            "evidence": plain.evidences(estimator.evidence_),
            "learned": {
                "log_likelihood_": estimator.log_likelihood_,
                "n_iter_": estimator.n_iter_,
                "converged_": estimator.converged_,
                "flags_": [str(flag) for flag in estimator.flags_],
                "categories_": {k: [str(s) for s in v] for k, v in estimator.categories_.items()},
                "n_features_in_": estimator.n_features_in_,
            },
            "names": list(estimator.get_feature_names_out()),
            "predict": estimator.predict(part),
            "predict_proba": estimator.predict_proba(part),
            "transform": np.asarray(estimator.transform(part)),
            "score_samples": estimator.score_samples(part),
            "score": estimator.score(part),
            "bic": estimator.bic(part),
            "aic": estimator.aic(part),
            "sample": np.asarray(drawn),
            "labels": labels,
            "impute": np.asarray(estimator.impute(part)),
        }
    )


def latent_class_model():
    X = survey()
    model = lacunet.LatentClassModel(3, n_init=8, scores="usual", random_state=1).fit(X)
    profiles = {"class_sizes_": model.class_sizes_, "profiles_": model.profiles_}
    return described(model, X) | plain.plain(profiles)


def latent_class_model_weighted():
    X, counts = carcinoma()
    weights = {"whole": counts.to_numpy(), "fractional": counts.to_numpy() / 3.5}
    found = {}
    for name, w in weights.items():
        model = lacunet.LatentClassModel(2, estimate="ml", alpha="k2", n_init=8, random_state=0)
        predicted = model.fit_predict(X, sample_weight=w)
        found[name] = described(model, X) | {
            "fit_predict": plain.plain(predicted),
            "weighted": model.score(X, sample_weight=w),
        }
    return found


def latent_class_model_of_an_array():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (150, 5)).astype(float)
    X[:, 1] = np.where(rng.random(150) < 0.7, X[:, 0], X[:, 1])
    X[rng.random(X.shape) < 0.1] = np.nan
    how = {"categories": [[0, 1, 2, 3]] * 5, "unseen": "missing", "n_jobs": 2}
    model = lacunet.LatentClassModel(2, n_init=8, random_state=5, alpha="bdeu:24", **how).fit(X)
    other = X.copy()
    other[:20, 2] = 7.0
    return described(model, X) | {"unseen": plain.plain(model.predict_proba(other))}


def latent_class_selector():
    X = survey()
    found = {}
    for average in (False, True):
        model = lacunet.LatentClassSelector(
            range(1, 5), average=average, n_init=8, scores="usual", random_state=2
        ).fit(X)
        found["average" if average else "chosen"] = described(model, X) | plain.plain(
            {
                "n_classes_": model.n_classes_,
                "posterior_": model.posterior_,
                "scores_": model.scores_,
                "class_sizes_": model.class_sizes_,
                "profiles_": model.profiles_,
            }
        )
    return found


def latent_class_selector_weighted():
    X, counts = carcinoma()
    model = lacunet.LatentClassSelector(
        (2, 3, 4),
        criterion="cs",
        average=True,
        scores=["cs", "bic", "vb"],
        n_init=8,
        random_state=0,
    ).fit(X, sample_weight=counts)
    return described(model, X) | plain.plain({"posterior_": model.posterior_})


def bayesian_network_model():
    """By edges; by nothing but hidden variables; without hidden ones."""
    X = survey()[["home", "area", "cars", "commute", "satisfied"]]
    edges = [("f", "home"), ("f", "area"), ("g", "cars"), ("g", "commute"), ("f", "g")]
    ways = {
        "edges": {"network": [*edges, ("g", "satisfied")], "hidden": {"f": 2, "g": 2}},
        "all on all": {"network": None, "hidden": {"h": 2, "i": 2}},
    }
    found = {}
    for name, how in ways.items():
        model = lacunet.BayesianNetworkModel(**how, n_init=8, scores="usual", random_state=1)
        model.fit(X)
        found[name] = described(model, X) | {"tables_": plain.plain(model.tables_)}
    return found


def bayesian_network_model_given():
    """A network as an object, as a file, and one that hides nothing."""
    known = m.drawn(*m.COLLIDER, "H G", seed=1)
    lacunet.write_network(known, "net.bif")
    rows = lacunet.simulate(known, 200, seed=2, missing_rate=0.15)
    ways = {"object": known.network, "file": "net.bif"}
    found = {}
    for name, network in ways.items():
        hidden = None if name == "object" else ["H", "G"]
        model = lacunet.BayesianNetworkModel(
            network, hidden=hidden, n_init=8, estimate="ml", random_state=1, n_jobs=1
        ).fit(rows)
        found[name] = described(model, rows) | {"tables_": plain.plain(model.tables_)}
    plain_graph = lacunet.BayesianNetworkModel([("x", "y"), ("y", "w"), ("a", "z")], random_state=0)
    plain_graph.fit(rows)
    found["nothing hidden"] = plain.plain(
        {
            "fit": plain.fit(plain_graph.fit_),
            "score_samples": plain_graph.score_samples(rows),
            "impute": np.asarray(plain_graph.impute(rows)),
        }
    )
    return found
