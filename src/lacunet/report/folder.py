"""A selection as a folder: everything as data, and one model file per candidate."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from lacunet.errors import OutputError
from lacunet.files import write_text
from lacunet.model.modelfile import write_model
from lacunet.report.documents import selection_document, to_json
from lacunet.search.show import candidate_grid
from lacunet.search.states import Selection


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Make the folder, or say now, before the work, why it cannot be made."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be made a folder: {error.strerror or error}. "
            "Choose another with --save."
        ) from error
    if not os.access(path, os.W_OK):
        raise OutputError(f"{path} may not be written to. Choose another folder with --save.")
    return path


def save_selection(selection: Selection, folder: str | os.PathLike[str]) -> Path:
    """Write selection.json, candidates.csv, selection.txt and model-K.json for each K."""
    path = check_folder(folder)
    for c in selection.candidates:
        write_model(c.fit.model, path / f"model-{c.states}.json")
    grid = candidate_grid(selection)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(grid.header)
    writer.writerows([[cell.lstrip("*") for cell in row] for row in grid.rows])
    write_text(path / "candidates.csv", buffer.getvalue())
    write_text(path / "selection.txt", f"{selection}\n")
    write_text(path / "selection.json", to_json(selection_document(selection)) + "\n")
    return path
