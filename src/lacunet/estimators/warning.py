"""Warnings that point to the line of the person who called, however deep they arise."""

import inspect
import warnings
from pathlib import Path

import sklearn

PASSED = tuple(str(Path(file).parent) for file in (__file__, sklearn.__file__))  # on the way


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn whoever called an estimator, perhaps through scikit-learn."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PASSED):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
