"""The JSON model file by its path; its text is `lacunet.model.formats.json_model`."""

from __future__ import annotations

import os
from pathlib import Path

from lacunet.errors import ModelError
from lacunet.files import write_text
from lacunet.model.formats.json_model import read as model_from_json
from lacunet.model.formats.json_model import write as model_to_json
from lacunet.model.network import Model

__all__ = ["model_from_json", "model_to_json", "read_model", "write_model"]


def write_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file, atomically."""
    write_text(path, model_to_json(model))


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read and check a model file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ModelError(
            f"{path}: {error.strerror or error}. Give the path of a model file, "
            "as `lacunet fit --save model.json` writes it."
        ) from error
    except UnicodeDecodeError as error:
        raise ModelError(
            f"{path}: this is not a text file, so not a model file. Give a file that "
            "`lacunet fit --save model.json` wrote."
        ) from error
    try:
        return model_from_json(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
