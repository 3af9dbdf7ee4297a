"""Work that was stopped goes on from its file, and ends as if it had not been; one at a time."""

import json

import numpy as np
import polars as pl
import pytest

from lacunet import api
from lacunet.errors import OutputError
from lacunet.fitting.objective import Estimate
from lacunet.runtime.checkpoint import decoded, encoded

STOP = 3  # results after which a run is stopped


def table(rows=30):
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, rows)
    answers = np.where(rng.random((rows, 3)) < 0.3, rng.integers(0, 2, (rows, 3)), group[:, None])
    numbers = rng.normal(size=rows).round(2) + 3 * group
    return pl.DataFrame([[*("xy"[v] for v in row)] for row in answers], orient="row").with_columns(
        n=pl.Series(numbers)
    )


KINDS = {"kinds": "n=gaussian"}
EVIDENCE = {"states": 2, "target": 0.5, "threads": 1}


def measured(file=None, **options):
    return api.log_evidence(table().drop("n"), resume=file, **(EVIDENCE | options))


def stacked(file=None, **options):
    given = {"folds": 2, "only": "classes", "threads": 1, **KINDS, **options}
    return api.stack(table(), resume=file, **given)


def weights(stack):
    return [(m.name, m.weight, m.model.theta.tolist()) for m in stack.ensemble.members]


def stopped(file):
    """Leave a file as a run that was killed leaves it: a few results, and a part of one more."""
    whole = file.read_bytes().splitlines(keepends=True)
    assert len(whole) > STOP + 1
    file.write_bytes(b"".join(whole[: STOP + 1]) + whole[STOP + 1][:20])


@pytest.mark.parametrize("method", ["smc", "ais", "walk"])
def test_measured_evidence_resumes(tmp_path, method):
    expected, file = measured(method=method), tmp_path / "way.jsonl"
    assert measured(file, method=method) == expected
    stopped(file)
    assert measured(file, method=method) == expected
    size = file.stat().st_size
    assert measured(file, method=method) == expected
    assert file.stat().st_size == size  # nothing was done again


def test_a_stack_resumes(tmp_path):
    expected, file = weights(stacked()), tmp_path / "way.jsonl"
    assert weights(stacked(file)) == expected
    stopped(file)
    assert weights(stacked(file)) == expected


def contents(selection):
    """Everything that a selection says, but for times."""
    return (
        selection.certainty.values,
        selection.certainty.probabilities,
        [c.fit.model.theta.tolist() for c in selection.candidates],
        [c.fit.model.posterior.tolist() for c in selection.candidates],
        [(name, e.value, e.stderr) for c in selection.candidates for name, e in c.scores.items()],
        [str(flag) for c in selection.candidates for flag in c.flags],
        {k: test.replicates.tolist() for k, test in selection.ratio_tests.items()},
    )


WAYS = {
    "a walk": {},
    "each by itself": {"evidence": True, "target": 0.5},
    "scores alone": {"quick": True, "scores": "all"},
    "with numbers": {"kinds": "n=gaussian", "quick": True},
    "tested": {"blrt": 19, "quick": True, "scores": "bic"},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_selection_resumes_from_any_point(tmp_path, way):
    """Fits, what neighbours learn, scores, walks and measurements are kept as they come."""
    file, options = tmp_path / "way.jsonl", {"starts": 4, "threads": 1, **WAYS[way]}
    data = table(60) if "kinds" in options else table(60).drop("n")

    def chosen(resume=None):
        return contents(api.select(data, range(1, 4), resume=resume, **options))

    expected = chosen()
    assert chosen(file) == expected
    whole = file.read_bytes().splitlines(keepends=True)
    for done in np.random.default_rng(0).permutation(len(whole) - 1)[:2].tolist():
        file.write_bytes(b"".join(whole[: done + 1]) + whole[done + 1][:20])
        assert chosen(file) == expected
        assert len(file.read_bytes().splitlines()) == len(whole)  # and all is there again


def test_structures_are_compared_from_where_it_was_stopped(tmp_path):
    file, data = tmp_path / "way.jsonl", table(60).drop("n")
    whole = api.learn_structure(data, threads=1).network
    apart = api.learn_structure(data, threads=1, max_parents=0).network

    def compared(resume=None):
        return contents(api.compare(data, {"one": whole, "two": apart}, resume=resume, threads=1))

    expected = compared()
    assert compared(file) == expected
    assert compared(file) == expected


def test_other_work_does_not_resume_from_a_file(tmp_path):
    file = tmp_path / "way.jsonl"
    measured(file, method="smc")
    with pytest.raises(OutputError, match=r"made with seed 0, not 1.*resume= another name"):
        measured(file, method="smc", seed=1)
    with pytest.raises(OutputError, match="It was left as it is"):
        stacked(file)
    file.unlink()
    api.select(table().drop("n"), [1, 2], resume=file, quick=True, threads=1)
    for other in ({"states": [1, 3]}, {"seed": 1}, {"alpha": 2.0}, {"missing": ["y"]}):
        given = {"states": [1, 2], "quick": True, "threads": 1, **other}
        with pytest.raises(OutputError, match="It was left as it is"):
            api.select(table().drop("n"), resume=file, **given)


@pytest.mark.parametrize("work", ["evidence", "stack", "learn", "select"])
def test_two_at_once_on_one_file(tmp_path, work):
    file, message = tmp_path / "way.json", []

    def meanwhile(progress):
        if not message and file.exists():  # opened, and locked
            message.append(progress)
            with pytest.raises(OutputError, match="another process is writing to it"):
                run(None)

    def run(listener):
        options = {} if listener is None else {"listener": listener}
        if work == "evidence":
            return measured(file, method="smc", **options)
        if work == "stack":
            return stacked(file, **options)
        if work == "select":
            return api.select(table().drop("n"), [1, 2], resume=file, threads=1, **options)
        return api.learn_structure(table().drop("n"), resume=file, threads=1, **options)

    run(meanwhile)
    assert message
    run(None)  # it was let go
    assert {p.name for p in tmp_path.iterdir()} <= {"way.json"}  # no lock is left


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6.0).reshape(2, 3),
        np.array([True, False]),
        (1, [2.5, float("inf"), None], {"a": Estimate.MAP}),
        np.float64(0.1),
    ],
)
def test_what_is_kept_is_what_it_was(value):
    again = decoded(json.loads(json.dumps(encoded(value))))
    assert type(again) is type(value) or isinstance(value, np.generic)
    assert np.array_equal(again, value) if isinstance(value, np.ndarray) else again == value


def test_generators_resume_in_the_same_state():
    rng = np.random.default_rng(3)
    rng.random(5)
    again = decoded(json.loads(json.dumps(encoded(rng))))
    assert again.random(4).tolist() == rng.random(4).tolist()


@pytest.mark.parametrize(
    "forged",
    [
        {"record": "os:system", "values": ["true"]},
        {"record": "lacunet.runtime.files:write_text", "values": ["x", "y"]},
        {"record": "lacunet.runtime.checkpoint:json.loads", "values": ["1"]},
        {"array": "AAAA", "dtype": "|O", "shape": [1]},
        {"anything": 1},
    ],
)
def test_no_code_is_read(forged):
    with pytest.raises(OutputError, match="Remove it"):
        decoded(forged)
