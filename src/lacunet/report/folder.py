"""A selection as a folder: everything as data, and one model file per candidate."""

import re
from pathlib import Path
from typing import Any

from lacunet.models.formats import write_model
from lacunet.report.documents import selection_document, to_json
from lacunet.runtime.files import (
    StrPath,
    atomic_folder,
    check_file,
    check_folder,
    check_not_read,
    write_text,
)
from lacunet.selection.candidates import Selection
from lacunet.tabular.export import csv_table

FIT = ("dimension", "log_likelihood", "log_prior", "log_posterior", "iterations", "reached_best")


# Names of what is written in the folder, as patterns.
WRITTEN = ("candidates.csv", "selection.txt", "selection.json", "model-*.json")


def check_selection_folder(folder: StrPath) -> None:
    """Say now, before the work, why a selection could not be saved there."""
    check_folder(folder)
    for path in _there(folder):
        check_file(path)


def save_selection(selection: Selection, folder: StrPath) -> Path:
    """Write selection.json, candidates.csv, selection.txt and model-K.json for each K."""
    for path in _there(folder):
        check_not_read(path, selection.table.source)
    document = selection_document(selection)
    with atomic_folder(folder) as path:
        for c in selection.candidates:
            name = re.sub(r"[^\w.=-]+", "_", str(c.label))
            write_model(c.fit.model, path / f"model-{name}.json")
        write_text(path / "candidates.csv", _candidates(document))
        write_text(path / "selection.txt", f"{selection}\n")
        write_text(path / "selection.json", to_json(document) + "\n")
    return Path(folder)


def _there(folder: StrPath) -> list[Path]:
    """Give what is in a folder already under the names that are written."""
    return [path for pattern in WRITTEN for path in Path(folder).glob(pattern)]


def _candidates(document: dict[str, Any]) -> str:
    """One line per candidate, with all digits; a cell without a value is empty."""
    names = list(dict.fromkeys(name for c in document["candidates"] for name in c["scores"]))
    by = document["headline"]
    first = "states" if isinstance(document["candidates"][0]["label"], int) else "network"
    rows = []
    for c in document["candidates"]:
        k = c["label"]
        values = [c["scores"][name]["value"] if name in c["scores"] else None for name in names]
        chances = [document[p][by][k] for p in ("posterior", "posterior_with_log_k_factorial")]
        error = document["certainty"]["stderr"][k]
        rows.append([k, *(c[x] for x in FIT), *values, *chances, error, sum(c["seconds"].values())])
    chance = (f"p_{by}", f"p_{by}_with_log_k_factorial", f"p_{by}_stderr")
    return csv_table([first, *FIT, *names, *chance, "seconds"], rows)
