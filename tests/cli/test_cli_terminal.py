"""What a terminal shows, and what happens when the user leaves early."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from lacunet import api, dataset_path
from lacunet.data.write import write_codes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")

FULL = Path("/dev/full")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


def start(arguments, cwd, **options):
    environment = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "NO_COLOR"}}
    command = [sys.executable, "-m", "lacunet", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=cwd, env={**environment, "TERM": "xterm-256color"}, **options
    )


def in_terminal(arguments, cwd, columns: int) -> str:
    """Run a command whose stdout is a terminal of so many columns; give what it shows."""
    import fcntl
    import pty
    import struct
    import termios

    try:
        master, slave = pty.openpty()
    except OSError as error:  # a container without /dev/pts
        pytest.skip(f"no terminal can be made here: {error}")
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = start(arguments, cwd, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while piece := os.read(master, 65536):
            shown += piece
    os.close(master)
    assert process.wait(timeout=60) == 0
    return shown.decode("utf-8")


def width(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 140])
def test_tables_fit_the_terminal(tmp_path, columns):
    options = ("--states", "1:6", "--starts", 8, "--quick", "--verbose")
    raw = in_terminal(("select", dataset_path("survey"), *options), tmp_path, columns)
    assert "\x1b[1m" in raw
    lines = CONTROL.sub("", raw).splitlines()
    assert max(map(width, lines)) <= columns
    assert "…" not in "".join(lines)
    text = " ".join(" ".join(lines).split())
    assert text.startswith("3 classes (probability 0.988 that 3 is right, among 1 to 6; 4: 0.01")
    headers = [line.split() for line in lines if line.startswith("classes ")]
    assert " ".join(headers[0]) == "classes d log p(D|θ) p(k) log BF starts seconds"
    scores = ["Laplace", "CSL", "VB", "CS", "MLED", "Draper", "BIC/MDL", "CSL", "occ."]
    assert [x for h in headers[1:] for x in h[1:]] == scores
    assert len(headers) == (3 if columns == 80 else 2)
    assert any(line.startswith("commute = public transport") for line in lines)


@pytest.mark.slow
def test_many_classes_are_shown_in_several_tables(tmp_path):
    options = ("--states", 9, "--starts", 2)
    raw = in_terminal(("fit", dataset_path("survey"), *options), tmp_path, 80)
    lines = CONTROL.sub("", raw).splitlines()
    assert max(map(width, lines)) <= 80
    assert sum(line.startswith("size ") for line in lines) == 2
    assert all(any(f"class {k}" in line for line in lines) for k in range(1, 10))


@pytest.mark.slow
def test_a_closed_pipe_is_no_error_message(tmp_path):
    options = ("--weights", "count", "--states", "1:2", "--json", "--save", "out")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start(("select", dataset_path("carcinoma"), *options), tmp_path, **pipes)
    process.stdout.close()
    message = process.stderr.read().decode()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in message
    assert "BrokenPipe" not in message
    assert (tmp_path / "out" / "selection.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(tmp_path):
    with FULL.open("w") as full:
        arguments = ("random", "--classes", 2, "--leaves", 2, "-o", "m.json")
        process = start(arguments, tmp_path, stdout=full, stderr=subprocess.PIPE)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 2
    assert message.decode() == "error: the result cannot be printed: No space left on device.\n"


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_work_leaves_nothing(tmp_path, threads):
    model = api.random_model(6, 40, leaf_states=4, seed=1)
    write_codes(*api.draw(model, 20_000, 1, 0.1), tmp_path / "big.csv")
    arguments = ("select", "big.csv", "--states", "8:16", "--save", "out", "--threads", threads)
    process = start(arguments, tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in process.stderr:  # the work begins after this line
        if b"preparing" in line:
            break
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, message = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert message.decode().endswith("interrupted; nothing half-written is left behind\n")
    assert "Traceback" not in message.decode()
    assert [p.name for p in tmp_path.iterdir()] == ["big.csv"]


CLOSED = {
    "stdout": ">&-",
    "stderr": "2>&-",
    "both": ">&- 2>&-",
    "all": "<&- >&- 2>&-",
    "reader of stdout": "| true",
    "reader of stderr": "2>&1 >/dev/null | true",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "form"), [*((one, "--json") for one in CLOSED), ("stdout", ""), ("both", "")]
)
def test_closed_streams_end_as_if_they_led_nowhere(tmp_path, closed, form):
    """No other file gets the number of a stream, nothing is said, and the work is done."""
    command = f"{sys.executable} -m lacunet random --classes 2 --leaves 2 -o m.json {form}"
    script = f"({command}; echo $? > code) {CLOSED[closed]}"
    ran = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert (tmp_path / "code").read_text() == "0\n"
    assert json.loads((tmp_path / "m.json").read_text("utf-8"))["format"] == "lacunet-model/1"
    message = ran.stderr.decode()
    assert all(word not in message for word in ("Traceback", "Exception", "defect"))
    assert closed == "stdout" or not message or "written" in message


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
def test_a_mistake_has_its_exit_code_without_stderr(tmp_path, closed):
    command = f"{sys.executable} -m lacunet select nope.csv {closed}; echo $? > code"
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, timeout=60, check=False)
    assert (tmp_path / "code").read_text() == "2\n"


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_help_on_a_full_disk_is_an_error(tmp_path):
    with FULL.open("w") as full:
        process = start(("--help",), tmp_path, stdout=full, stderr=subprocess.PIPE)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 2
    assert message.decode() == "error: the result cannot be printed: No space left on device.\n"
