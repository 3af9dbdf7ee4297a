"""Some hundreds of random command lines; `make fuzz` tries thousands."""

import numpy as np
import pytest

from fuzz import command_lines
from fuzz.command_lines import (
    BrokenPromiseError,
    Ran,
    check_agreement,
    check_run,
    try_line,
    try_seed,
)
from fuzz.drawn_lines import COMMAND_WEIGHTS, NEVER, has_values, name_of, parameters_of
from fuzz.values import VALUES
from lacunet.cli.app import COMMANDS

FEW, MORE, ALL, AT_ONCE = 6, 80, 240, 20  # seeds


def test_command_lines_end_in_an_answer_or_a_sentence():
    for seed in range(FEW):
        try_seed(seed)


BATCHES = [
    *range(0, MORE, AT_ONCE),
    *(pytest.param(first, marks=pytest.mark.long) for first in range(MORE, ALL, AT_ONCE)),
]


@pytest.mark.slow
@pytest.mark.parametrize("first", BATCHES)
def test_many_command_lines_end_in_an_answer_or_a_sentence(first):
    codes = [try_seed(seed) for seed in range(first, first + AT_ONCE)]
    assert codes.count(0) > AT_ONCE / 5  # most of what is drawn must mean something


# What broke a promise before it was mended: rows with blanks between, and the command line.
FOUND = {
    "a class of few rows, split by the ML, left a common variance of 0": (
        (
            "x,D,B,n "
            "10,7,mid,3.4291 2,1,high,3.2556 4,10,mid,2.3296 8,13,mid,5.9198 6,5,high,7.4924 "
            "0,1,low,-0.6398 2,2,mid,4.2538 2,0,low,1.4219 12,4,mid,6.8019 2,5,mid,4.8588 "
            "9,6,high,5.345 1,0,low,0.1787 14,8,high,2.4595 3,4,mid,2.8846 7,2,mid,4.4092 "
            "0,1,low,-0.2864 2,2,low,1.5643 13,8,high,6.5372 8,9,low,1.995 0,0,low,0.3061 "
            "3,4,mid,5.0821 0,1,low,-1.0414 8,10,high,5.2922 5,5,mid,4.5114 3,2,mid,1.9181 "
        ),
        "select --estimate ml --starts 2 --kinds n=gaussian --covariance full-common --classes 4:6",
    ),
    "a relative change of a log-likelihood that is 0": (
        "C,n,B -0.2092,-0.0103,0.2847 1.2603,-0.016,-0.4726",
        "lrt --starts 1 --classes 4",
    ),
    "a log Bayes factor of −inf without a graph with hidden variables": (
        (
            "D,A,B "
            "2.0962,4.148,_ -0.5529,1.1034,_ 3.2123,12.9962,_ 4.0135,0.7794,_ 2.7044,2.1704,_ "
            "-1.4621,2.2331,_ -1.9816,1.2753,_ 2.7239,0.8154,_ 3.9823,7.5181,_ 3.8845,1.2281,_ "
            "3.5524,3.0256,_ 3.4735,0.9817,_ 0.0038,0.3249,_ 2.3051,26.8959,_ 0.2904,1.1243,_ "
            "2.5382,27.574,_ "
            "-0.3103,1.1983,_ 2.6626,5.3076,_ -0.5223,0.5,_ -1.1682,2.027,_ "
        ),
        "learn --hidden auto --budget 2s",
    ),
    "rows of weight 0 were divided by their copies": (
        "A,B,C,w " + "x,u,0,0 x,v,1,2 y,u,1,1 y,v,,2 x,,0,0 y,v,1,3 " * 5,
        "stack --folds 2 --only classes --weights w",
    ),
    "an equivalent sample size was shared by a number that another has the table of": (
        "A,x,y " + "a,1.5,2.25 b,2.5,2.75 a,1.25,3.5 b,4.5,4.25 a,2.75,1.125 " * 4,
        "fit --classes 2 --alpha bdeu:1 --covariance full --kinds x=gaussian,y=gaussian",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FOUND)
def test_former_failures_stay_mended(tmp_path, case):
    rows, words = FOUND[case]
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "d.csv").write_text("\n".join(rows.split()) + "\n")
    try_line([*words.split(), "--threads", "1", "d.csv"], folder, np.random.default_rng(0))


@pytest.mark.parametrize("command", COMMANDS)
def test_all_options_can_be_drawn(command):
    """A new option needs a line in `VALUES`, unless its type says what it may hold."""
    assert name_of(command) in COMMAND_WEIGHTS
    parameters = parameters_of(command)
    if COMMAND_WEIGHTS[name_of(command)]:
        assert [name for name, p in parameters.items() if not has_values(p)] == []


def test_values_are_drawn_for_existing_options_only():
    names = {name for command in COMMANDS for name in parameters_of(command)}
    assert set(VALUES) | NEVER <= names


@pytest.fixture
def here(tmp_path):
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "d.csv").write_text("A,B,C\n" + "x,u,1\ny,v,2\nx,v,1\n,v,2\n" * 8)
    return folder


def line(*words):
    return [*words, "--classes", "2", "--starts", "1", "--threads", "1", "d.csv"]


@pytest.mark.parametrize(
    ("error", "says"), [(ZeroDivisionError("by zero"), "by zero"), (RuntimeWarning("bad"), "bad")]
)
def test_a_defect_is_found(here, monkeypatch, error, says):
    def fails(*args, **options):
        raise error

    monkeypatch.setattr("lacunet.api.fit", fails)
    with pytest.raises(BrokenPromiseError, match=says):
        try_line(line("fit"), here, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        (Ran(0, "log p = nan\n", ""), "stdout has 'nan'"),
        (Ran(0, "log p = −inf\n", ""), "stdout has '−inf'"),
        (Ran(0, "", "RuntimeWarning: overflow\n"), "stderr has 'RuntimeWarning"),
        (Ran(2, "3 classes\n", "error: no\n"), "exit code 2, and on stdout"),
        (Ran(2, "", "no\n"), "without a sentence"),
    ],
)
def test_what_is_printed_is_looked_through(here, ran, says):
    before = command_lines.contents(here)
    with pytest.raises(BrokenPromiseError, match=says):
        check_run(ran, before, here, ["fit"])
    check_run(Ran(0, "log p(info) = -3.5\n", ""), before, here, ["fit"])


def test_files_are_looked_through(here):
    before = command_lines.contents(here)
    good = Ran(0, "", "")
    (here / "new.csv").write_text("a\nInfinity\n")
    with pytest.raises(BrokenPromiseError, match=r"new\.csv has 'Infinity'"):
        check_run(good, before, here, ["fit"])
    (here / "new.csv").unlink()
    (here / "new.json").write_text('{"a": NaN}')
    with pytest.raises(BrokenPromiseError, match="JSON has NaN"):
        check_run(good, before, here, ["fit"])
    with pytest.raises(BrokenPromiseError, match=r"exit code 2, and new\.json written"):
        check_run(Ran(2, "", "error: no"), before, here, ["fit"])
    (here / "d.csv").write_text("")
    with pytest.raises(BrokenPromiseError, match=r"inputs were changed: d\.csv"):
        check_run(good, before, here, ["fit"])


def test_numbers_of_documents_and_texts_are_compared():
    document = {"value": -1234.5678}
    check_agreement(["evidence"], document, "log p(D|S) = -1,234.568 ± 0.039 nats")
    check_agreement(["evidence"], document, "log p(D|S) = −1234.57 nats")
    with pytest.raises(BrokenPromiseError, match=r"JSON has -1234\.5678, and the text does not"):
        check_agreement(["evidence"], document, "log p(D|S) = -1234.58 nats")
