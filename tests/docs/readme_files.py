"""The files that the README speaks of, small enough to be run in seconds."""

from pathlib import Path

import numpy as np

import lacunet
from lacunet import Network, Variable
from lacunet.models.conjugacy import random_theta
from lacunet.models.prior import dirichlet

ANSWERS = ("no", "yes")
COLUMNS = ("a", "b", "c", "d", "e")
ROWS = 200


def write_readme_files(folder: Path) -> None:
    """Write an incomplete survey, a network with a hidden variable, two rivals, and data."""
    survey = lacunet.random_model(2, 5, seed=3)
    answers = lacunet.simulate(survey, ROWS, seed=1, missing_rate=0.1)
    answers.columns = [f"q{i}" for i in range(1, 6)]
    words = {"0": "no", "1": "yes"}
    answers = answers.cast(str).with_columns(
        *(answers[c].cast(str).replace(words).fill_null("refused") for c in answers.columns)
    )
    answers.write_csv(folder / "answers.csv")

    hidden = Variable("H", (1, 2), hidden=True)
    seen = [Variable(name, ANSWERS) for name in COLUMNS]
    structures = {
        "net": [(), (0,), (0,), (0,), (0,), (1,)],
        "a": [(), (0,), (0,), (0,), (0,), (0,)],
        "b": [(), (0,), (0,), (0,), (0,), (1, 0)],
    }
    for name, parents in structures.items():
        network = Network.build([hidden, *seen], parents)
        model = model_of(network)
        lacunet.write_network(model, folder / f"{name}.bif")
        if name == "net":
            rows = lacunet.simulate(model, ROWS, seed=2, missing_rate=0.1)
            rows.write_csv(folder / "data.csv")
            lacunet.simulate(model, ROWS, seed=4).write_csv(folder / "complete.csv")


def model_of(network: Network) -> lacunet.Model:
    """Give a network some parameters."""
    theta = random_theta(network.layout, np.random.default_rng(5))
    return lacunet.Model(network, theta, dirichlet(network, 1.01))
