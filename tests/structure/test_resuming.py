"""A search that was stopped goes on where it was, and ends as if it had not been."""

import json

import numpy as np
import pytest

from lacunet import find_hidden, learn_structure
from lacunet.data.table import Table
from lacunet.errors import OutputError
from lacunet.runtime.checkpoint import Checkpoint, decoded
from lacunet.selection import hidden_search
from lacunet.structure.hidden.growing import Growing

OPTIONS = {"alpha": "bdeu:4", "seed": 3, "threads": 1}


def a_table(missing, n=12, rows=150):
    """Each variable follows one before it."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (rows, n))
    for v in range(1, n):
        follow = rng.random(rows) < 0.7
        codes[follow, v] = codes[follow, rng.integers(v)]
    codes[rng.random(codes.shape) < missing] = -1
    return Table.from_codes(codes)


class StoppedError(Exception):
    """As if by Ctrl-C."""


def stop_after(monkeypatch, times):
    """Stop when so many stands have been kept."""
    put, kept = Checkpoint.put, []

    def stopping(self, piece, **stand):
        put(self, piece, **stand)
        if self.ledger is not None:  # searches within a search keep nothing
            kept.append(piece)
        if len(kept) == times:
            raise StoppedError

    monkeypatch.setattr(Checkpoint, "put", stopping)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_it_ends_as_if_it_had_not_been_stopped(monkeypatch, tmp_path, missing, times):
    table, file = a_table(missing, 8 if missing else 12), tmp_path / "search.json"
    whole = learn_structure(table, **OPTIONS)
    with monkeypatch.context() as patched:
        stop_after(patched, times)
        with pytest.raises(StoppedError):
            learn_structure(table, resume=file, **OPTIONS)
    before = {}  # the last line of a piece says where it stood
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        record = json.loads(line)
        before[record["of"]] = decoded(record["result"])
    learned = learn_structure(table, resume=file, **OPTIONS)
    assert learned.network == whole.network
    assert learned.log_evidence == whole.log_evidence
    assert (learned.steps, learned.bounds, learned.fitted) == (
        whole.steps,
        whole.bounds,
        whole.fitted,
    )
    if missing:
        reached = before["rounds"]["bounds"]
        assert learned.bounds[: len(reached) - 1] == tuple(reached[:-1])
        assert learned.bounds[-1] >= reached[-1]
    again = learn_structure(table, resume=file, **OPTIONS)  # it has ended: nothing is searched anew
    assert again.network == whole.network
    assert again.fitted == whole.fitted


def behind_columns(rows=250):
    """Two hidden bits, the second often a copy of the first, and five copies of either."""
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2, rows)
    second = np.where(rng.random(rows) < 0.7, first, 1 - first)
    shown = [np.where(rng.random(rows) < 0.92, h, 1 - h) for h in (first, second) for _ in range(5)]
    codes = np.column_stack(shown)
    codes[rng.random(codes.shape) < 0.05] = -1
    return Table.from_codes(codes)


@pytest.mark.slow
def test_a_search_for_hidden_variables_resumes(monkeypatch, tmp_path):
    table, file, options = behind_columns(), tmp_path / "search.json", OPTIONS | {"most": 2}
    monkeypatch.setattr(hidden_search, "CLOSE", 0.0)  # nothing is measured: no clock decides
    whole = find_hidden(table, **options)
    stops = 0
    while True:  # each time a little further, in the middle of whatever it is
        try:
            with monkeypatch.context() as patched:
                stop_after(patched, 4)
                search = find_hidden(table, resume=file, **options)
            break
        except StoppedError:
            stops += 1
    assert stops > 2
    assert search.network == whole.network
    assert np.array_equal(search.model.theta, whole.model.theta)
    assert search.factor == whole.factor
    assert search.hidden
    with monkeypatch.context() as patched:  # it has ended: nothing is searched or fitted anew
        patched.setattr(Growing, "_fit", lambda *_: pytest.fail("searched anew"))
        assert find_hidden(table, resume=file, **options).network == whole.network
    with pytest.raises(OutputError, match="other settings"):
        learn_structure(table, resume=file, **OPTIONS)
    with pytest.raises(OutputError, match="other settings"):
        find_hidden(table, resume=file, **(options | {"evidence": True}))


def test_files_of_other_searches_are_left_alone(tmp_path):
    file = tmp_path / "search.json"
    learn_structure(a_table(0.0), resume=file, **OPTIONS)
    kept = file.read_bytes()
    for table, options, why in (
        (a_table(0.0, rows=151), {}, "other data"),
        (a_table(0.0), {"sweeps": 2}, "other settings"),
        (a_table(0.0), {"max_parents": 1}, "other knowledge"),
    ):
        with pytest.raises(OutputError, match=f"{why}. It was left as it is: .*resume="):
            learn_structure(table, resume=file, **(OPTIONS | options))
    assert file.read_bytes() == kept
    for text in ("{x", '{"format": 1}', '{"format": 1}\n'):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(OutputError, match="it is not a checkpoint of an unfinished run"):
            learn_structure(a_table(0.0), resume=file, **OPTIONS)
    with pytest.raises(OutputError, match="is a folder"):
        learn_structure(a_table(0.0), resume=tmp_path, **OPTIONS)
