"""What is fuzzed: every reader, and the options of the command line: a sentence at worst."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from lacunet.cli.app import app
from lacunet.data.read import read_table
from lacunet.errors import LacunetError
from lacunet.models.formats import read_model_or_stack, read_network
from lacunet.structure.knowledge import read_knowledge

CORPUS = Path(__file__).parent / "corpus"
ALLOWED = (0, 2)  # exit codes: an answer, or a sentence


class DefectError(Exception):
    """The command line ended as it must not."""


def _reads(ending: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """Make a target of a reader: a file with these bytes."""

    def target(data: bytes) -> None:
        handle, name = tempfile.mkstemp(suffix=ending)
        path = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            read(path)
        except LacunetError:
            pass
        finally:
            path.unlink()

    return target


def options(data: bytes) -> None:
    """The words of a command line, one a line; the data file is not there."""
    words = data.decode("utf-8", "replace").split("\n")[:12]
    done = CliRunner().invoke(app, words)
    if done.exit_code not in ALLOWED:
        raise DefectError(f"{words} ended with {done.exit_code}: {done.output[-300:]}")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "csv": _reads(".csv", read_table),
    "tsv": _reads(".tsv", read_table),
    "parquet": _reads(".parquet", read_table),
    "arrow": _reads(".arrow", read_table),
    "bif": _reads(".bif", read_network),
    "xmlbif": _reads(".xmlbif", read_network),
    "xdsl": _reads(".xdsl", read_network),
    "json": _reads(".json", read_model_or_stack),
    "knowledge": _reads(".txt", read_knowledge),
    "options": options,
}


def seeds(name: str) -> list[bytes]:
    """The corpus of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
