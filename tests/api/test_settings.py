"""One value says how to work: checked when it is made, and what everything else is made from."""

import dataclasses
import inspect
import pickle
import re

import pytest
import typer

import lacunet
from lacunet import OptionError, api
from lacunet.api.options import READING, TAKEN, ReadSettings, SurveySettings, defaults_of
from lacunet.cli.app import COMMANDS
from lacunet.fitting.objective import Estimate
from lacunet.fitting.schedules import Schedule
from lacunet.scores import GROUPS
from lacunet.settings import DEFAULTS, OPTIONS, PARTS, Settings

FUNCTIONS = [name for name in lacunet.__all__ if inspect.isfunction(getattr(lacunet, name))]


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"scores": "lapalce"}, "'lapalce' is not a score. Did you mean 'laplace'?"),
        ({"scores": []}, "no score is named. Name some, usual, or all"),
        ({"estimate": "best"}, "estimate 'best' is not known. Choose from map, ml, softmax."),
        (
            {"alpha": 0},
            "alpha 0 is not allowed: Dirichlet exponents must be above 0. The usual",
        ),
        ({"alpha": "much"}, "alpha 'much' is not understood. Give a number above 0, k2, bdeu:SIZ"),
        ({"starts": 0}, "0 starts: there must be at least 1."),
        ({"schedule": "slow"}, "schedule 'slow' is not known. Choose from default, thorough, pa"),
        ({"schedule": "mass"}, "schedule 'mass' is what scores of the evidence use"),
        (
            {"schedule": "highest"},
            "every schedule ends at the highest maximum now. Choose thorough",
        ),
        ({"seed": -1}, "seed -1 is not allowed: give a whole number from 0 up."),
        ({"threads": 0}, "0 threads: there must be at least 1."),
        ({"dimension": "both"}, "dimension 'both' is not known. Choose from parameters, rank."),
        (
            {"method": "guess"},
            "method 'guess' is not known. Choose from auto, exact, ais, smc, walk.",
        ),
        ({"target": 0}, "a target of 0 nats: it must be above 0."),
        ({"target": float("nan")}, "a target of nan nats: it must be above 0."),
        ({"budget": -1}, "a budget of -1 seconds: it must be above 0."),
        ({"budget": "soon"}, "budget='soon' is not a time. Give for example 60s, 5m or 1h."),
        ({"level": 1}, "level 1 is not allowed: give a number between 0 and 1, as 0.95."),
        ({"bootstrap": 1}, "1 bootstrap replicates: there must be at least 2."),
    ],
)
def test_what_is_refused_when_it_is_made(bad, text):
    with pytest.raises(OptionError, match=re.escape(text)):
        Settings(**bad)
    with pytest.raises(OptionError, match=re.escape(text)):
        dataclasses.replace(DEFAULTS, **bad)


def test_texts_become_what_they_mean():
    result = Settings(
        estimate="ml", schedule="thorough", alpha="1.5", budget="5m", scores=["cs", "bic"]
    )
    assert result.options.estimate is result.estimate is Estimate.ML
    assert result.options.schedule is result.schedule is Schedule.THOROUGH
    assert (result.alpha, result.budget, result.goal.budget) == (1.5, 300.0, 300.0)
    assert [s.name for s in result.chosen_scores] == ["cs", "bic"]
    assert Settings().chosen_scores == GROUPS["usual"]
    assert Settings(dimension="rank").rank
    assert not Settings().rank


def test_it_is_a_value():
    one = Settings(starts=8, alpha="bdeu:10", scores=["cs"])
    assert one == Settings(starts=8, alpha="bdeu:10", scores=("cs",))
    assert len({one, Settings(starts=8, alpha="bdeu:10", scores=["cs"]), DEFAULTS}) == 2
    hash(Settings(alpha={"class": 1.0}))
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(one)).options == one.options
    assert repr(one) == "Settings(scores=('cs',), alpha='bdeu:10', starts=8)"
    assert eval(repr(one)) == one
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.starts = 4


def test_every_option_is_one_of_a_function_and_of_a_command():
    of_functions = {name for names in TAKEN.values() for name in names}
    of_commands = {name for c in COMMANDS for name in inspect.signature(c).parameters}
    assert set(OPTIONS) - of_functions == set()
    assert set(OPTIONS) - of_commands == set()
    assert of_functions == {*OPTIONS, *READING}
    assert {*READING} < {*inspect.signature(lacunet.read_table).parameters}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_few_parameters_and_plain_docstrings(name):
    function = getattr(lacunet, name)
    parameters = inspect.signature(function).parameters
    assert len(parameters) <= 20
    assert not re.search(r"^ *\*\*(?!options$)", function.__doc__, re.MULTILINE)
    if "options" in parameters:
        assert re.search(r"^    .*\*\*options$", function.__doc__, re.MULTILINE)
        assert {*TAKEN[name]} <= {*OPTIONS, *READING}


def test_help_lists_every_option_with_its_meaning():
    for kind in (*PARTS, Settings, SurveySettings, ReadSettings):
        text = " ".join(kind.__doc__.split())
        for option in dataclasses.fields(kind):
            assert f"{option.name} : " in text
            assert " ".join(option.metadata["meaning"].split()) in text


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.__name__)
def test_an_option_of_a_command_means_what_it_does_in_python(command):
    for name, parameter in inspect.signature(command).parameters.items():
        if name in OPTIONS:
            option = parameter.annotation.__metadata__[0]
            assert isinstance(option, typer.models.OptionInfo)
            assert option.help == OPTIONS[name].metadata["meaning"]
            assert dataclasses.replace(DEFAULTS, **{name: parameter.default})


@pytest.mark.parametrize(
    "work",
    ["select", "compare", "fit", "compare_missing", "score", "learn_structure", "random_model"],
)
def test_a_command_has_the_options_and_defaults_of_its_function(work):
    function = getattr(api, work)
    (command,) = (c for c in COMMANDS if c.__name__ == COMMAND_OF.get(work, work))
    options = {n: p for n, p in inspect.signature(command).parameters.items() if n in OPTIONS}
    of_function = {n for n in TAKEN[work] if n in OPTIONS}
    assert of_function <= set(options)
    given = {name: option.default for name, option in options.items()}
    assert dataclasses.replace(DEFAULTS, **given) == defaults_of(function)


COMMAND_OF = {"learn_structure": "learn", "random_model": "random"}


@pytest.mark.parametrize(
    "estimator",
    [lacunet.LatentClassModel, lacunet.LatentClassSelector, lacunet.BayesianNetworkModel],
)
def test_estimators_start_from_the_same_defaults(estimator):
    defaults = {n: p.default for n, p in inspect.signature(estimator).parameters.items()}
    assert defaults["estimate"] == DEFAULTS.estimate
    chooses = estimator is lacunet.LatentClassSelector
    usual = defaults_of(lacunet.select).alpha if chooses else DEFAULTS.alpha
    assert defaults["alpha"] in (usual, None)  # None: that of the structure it finds
    assert defaults["n_init"] == DEFAULTS.starts


def test_the_prior_of_a_network_goes_by_its_structure():
    given, learned = (
        lacunet.BayesianNetworkModel([("a", "b")], structure=options)._prior()
        for options in ("given", "learn")
    )
    assert given == DEFAULTS.alpha
    assert learned == lacunet.api.graphs.USUAL.alpha
    assert lacunet.BayesianNetworkModel(structure="learn", alpha="k2")._prior() == "k2"


def test_settings_and_options_beside_them():
    table = lacunet.load_dataset("carcinoma")
    few = Settings(starts=4, scores="bic", seed=3)
    one = lacunet.select(table, [1, 2], settings=few)
    same = lacunet.select(table, [1, 2], starts=4, scores="bic", seed=3)
    assert one.values("bic") == same.values("bic")
    assert one.options == same.options == few.options
    assert lacunet.select(table, [1, 2], settings=few, seed=5).options.seed == 5


def test_settings_in_parts():
    """What a part does not change stays as the function has it."""
    table, path = lacunet.load_dataset("carcinoma"), lacunet.dataset_path("carcinoma")
    few = lacunet.SearchSettings(starts=4, seed=3)
    one = lacunet.select(table, [1, 2], settings=few, quick=True)
    same = lacunet.select(table, [1, 2], starts=4, seed=3, quick=True)
    assert one.certainty.probabilities == same.certainty.probabilities
    assert one.options == same.options
    several = [few, lacunet.EvidenceSettings(quick=True), lacunet.ReadSettings(weights="count")]
    whole = lacunet.select(path, [1, 2], settings=several)
    assert whole.certainty.probabilities == same.certainty.probabilities
    assert lacunet.fit(path, 2, settings=several[::2], starts=2).options.starts == 2
    with pytest.raises(OptionError, match=r"fit\(\) has no option 'sweeps'"):
        lacunet.fit(table, 2, settings=lacunet.GraphSettings(sweeps=3))
    with pytest.raises(OptionError, match="Give Settings, EvidenceSettings, SearchSettings"):
        lacunet.fit(table, 2, settings=["starts"])


def test_a_misspelt_option_is_named():
    table = lacunet.load_dataset("carcinoma")
    with pytest.raises(OptionError, match=r"'n_int'. Did you mean 'n_init'"):
        lacunet.fit(table, 2, n_int=3)
    with pytest.raises(TypeError, match=r"fit\(\) has no option 'start'. Did you mean 'starts'\?"):
        lacunet.fit(table, 2, start=3)
    with pytest.raises(TypeError, match=r"fit\(\) has no option 'zzz'. It has data, states, netw"):
        lacunet.fit(table, 2, zzz=3)
    with pytest.raises(TypeError, match=r"'score'\. Did you mean 'scores'"):
        lacunet.select("nowhere.csv", score="cs")


def test_a_prior_by_families_needs_a_graph():
    with pytest.raises(OptionError, match="a prior for each family needs a graph"):
        lacunet.learn_structure(lacunet.load_dataset("carcinoma"), alpha={"A": 1.0})


def test_names_of_scikit_learn_are_understood():
    """With a word; and by the other name it is the same."""
    table = lacunet.load_dataset("carcinoma")
    with pytest.warns(UserWarning, match=r"fit.* calls '.*': taken as that") as caught:
        one = lacunet.fit(table, n_components=2, n_init=3, random_state=5, n_jobs=-1)
    assert [warning.filename for warning in caught] == [__file__] * 4
    assert one.options == lacunet.fit(table, 2, starts=3, seed=5).options
    with pytest.raises(
        OptionError, match=r"'sample_weight'. Here it is called 'weights', and names"
    ):
        lacunet.fit(table, 2, sample_weight=[1, 2])
    with pytest.raises(OptionError, match=r"'n_init'. Here it is called 'starts'"):
        lacunet.fit(table, 2, n_init=3, starts=3)
