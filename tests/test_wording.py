"""The same message in the words of a shell, and of Python."""

import numpy as np
import pytest
from typer.testing import CliRunner

import lacunet
from lacunet.cli.app import app
from lacunet.errors import DataError, LacunetError
from lacunet.wording import ON_COMMAND_LINE, worded


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Exclude it with --exclude id.", "Exclude it with exclude=['id']."),
        ("Leave one out: --exclude 'a b', or", "Leave one out: exclude=['a b'], or"),
        ("declare it with --missing=abc, or", "declare it with missing=['abc'], or"),
        ("Leave out --columns and --exclude.", "Leave out columns= and exclude=."),
        ("--exclude and --columns name it", "exclude= and columns= name it"),
        ("--weights: there is no column 'w'", "weights: there is no column 'w'"),
        ("(--method ais): that", "(method='ais'): that"),
        ("raise --starts 256.", "raise starts=256."),
        ("--states '5:2' runs backwards", "states='5:2' runs backwards"),
        ("give --states 1:8.", "give states='1:8'."),
        ("with --kinds x=gaussian.", "with kinds='x=gaussian'."),
        ("with --bin 'my age'=5, or --bin.", "with bin='my age=5', or bin=."),
        ("or --kinds 'my age'=gaussian", "or kinds='my age=gaussian'"),
        ("--weights-as frequency counts", "weights_as='frequency' counts"),
        ("Use --missing-as-state.", "Use missing_as_state=True."),
        ("nothing -- at all", "nothing -- at all"),
    ],
)
def test_options_become_arguments(written, message):
    assert worded(written) == message
    assert str(LacunetError(written)) == message
    token = ON_COMMAND_LINE.set(True)
    assert worded(written) == written
    ON_COMMAND_LINE.reset(token)


def test_one_mistake_in_both(tmp_path):
    rows = np.array([[f"id{i}", "ab"[i % 2]] for i in range(20)])
    with pytest.raises(DataError, match=r"Exclude it with exclude=\['x1'\]"):
        lacunet.read_table(rows)
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x1,x2", *map(",".join, rows.tolist())]))
    done = CliRunner().invoke(app, ["select", str(path)])
    assert "Exclude it with --exclude x1." in done.stderr
    assert not ON_COMMAND_LINE.get()
