import math

import numpy as np
import pytest

from lacunet.data.read import load_dataset
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.runtime.executor import SERIAL, Serial, on_threads
from lacunet.runtime.progress import Progress
from lacunet.scores import choose_scores
from lacunet.selection.average import Labellings, choose, posterior
from lacunet.selection.comparing import evaluate, latent_classes
from lacunet.settings import Settings


def select_states(table, states, prior=None, executor=SERIAL, **settings):
    candidates = latent_classes(table, list(states))
    return evaluate(table, candidates, Settings(**settings), prior, executor)


@pytest.fixture(scope="module")
def carcinoma():
    return select_states(load_dataset("carcinoma"), range(1, 5), starts=16)


@pytest.mark.slow
def test_the_known_answer(carcinoma):
    assert carcinoma.states == 3
    assert carcinoma.best.states == 3
    assert carcinoma.headline == "csl-occupied"
    assert set(carcinoma.chosen) == {s.name for s in choose_scores("usual")} - {"bd"}
    assert [c.dimension for c in carcinoma.candidates] == [7, 15, 23, 31]
    assert "bd" in carcinoma.candidates[0].scores
    assert "bd" not in carcinoma.candidates[1].scores


def test_posteriors(carcinoma):
    plain = carcinoma.posterior("cs")
    values = carcinoma.values("cs")
    total = sum(math.exp(v - values[3]) for v in values.values())
    assert plain[3] == pytest.approx(1 / total)
    labelled = carcinoma.posterior("cs", Labellings.ALL)
    assert math.log(labelled[3] / labelled[2]) == pytest.approx(
        values[3] - values[2] + math.log(3), abs=1e-9
    )
    assert sum(plain.values()) == pytest.approx(1)
    # The headline's values have all labellings in them already.
    assert carcinoma.posterior() == carcinoma.posterior(labellings=Labellings.ALL)


def test_a_prior_over_the_number_of_states():
    table = load_dataset("myocardial")
    selection = select_states(table, [1, 2, 3], starts=8, prior={1: 1.0, 2: 0.0, 3: 2.0})
    p = selection.posterior("cs")
    assert p[2] == 0.0
    values = selection.values("cs")
    assert math.log(p[3] / p[1]) == pytest.approx(values[3] - values[1] + math.log(2))
    for bad, text in (
        ({1: 1.0}, "has no weight for 2 states"),
        ({1: -1.0, 2: 1.0, 3: 1.0}, "Weights must be 0 or more"),
        ({1: 0.0, 2: 0.0, 3: 0.0}, "every candidate weight 0"),
    ):
        with pytest.raises(OptionError, match=text):
            select_states(table, [1, 2, 3], prior=bad)


@pytest.mark.slow
@pytest.mark.usefixtures("short_steps_on_threads")
def test_candidates_are_the_same_for_any_number_of_threads(carcinoma):
    with on_threads(3) as executor:
        other = select_states(load_dataset("carcinoma"), range(1, 5), starts=16, executor=executor)
    for a, b in zip(carcinoma.candidates, other.candidates, strict=True):
        np.testing.assert_array_equal(a.fit.model.theta, b.fit.model.theta)
        assert {n: e.value for n, e in a.scores.items()} == {
            n: e.value for n, e in b.scores.items()
        }


def test_progress_only_grows_and_ends():
    events: list[Progress] = []
    select_states(
        load_dataset("myocardial"),
        [1, 2, 3],
        scores="bic",
        starts=8,
        executor=Serial(events.append),
    )
    parts = [e.done for e in events]
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1.0)


def test_effective_dimension_on_request():
    rng = np.random.default_rng(0)
    table = Table.from_codes(rng.integers(0, 2, (60, 3)))
    selection = select_states(table, [2, 3], scores="bic", starts=4, dimension="rank")
    assert [c.dimension for c in selection.candidates] == [7, 7]


@pytest.mark.parametrize(
    ("states", "text"), [([], "no number of states"), ([0], "at least 1"), ([2, -1], "at least 1")]
)
def test_bad_states(states, text):
    with pytest.raises(OptionError, match=text):
        select_states(load_dataset("myocardial"), states)


def test_a_score_without_value_is_never_chosen():
    assert choose({1: -5.0, 2: math.nan, 3: -4.0}) == 3
    assert choose({1: -4.0, 2: -4.0}) == 1
    assert choose({1: math.nan, 2: -math.inf}) is None
    assert posterior({1: -5.0, 2: math.nan})[2] == 0.0
    assert math.isnan(posterior({1: math.nan})[1])


@pytest.mark.slow
def test_curves_sharpen_and_bic_is_no_larger_than_laplace():
    """Two of the paper's findings on one seed: n = 16, c = 4, N = 100 and 800."""
    from lacunet.api import random_model
    from lacunet.models.surgery import sample_codes

    model = random_model(4, 16, seed=5)
    drops = []
    for rows in (100, 800):
        codes = sample_codes(model, rows, np.random.default_rng(rows))
        selection = select_states(Table.from_codes(codes), range(2, 7), starts=16)
        laplace = selection.values("laplace")
        drops.append(max(laplace.values()) - laplace[2])
        assert selection.chosen["bic"] <= selection.chosen["laplace"]
    assert drops[1] > drops[0]
