"""What every estimator tells scikit-learn of the tables that it takes, and its function."""

from typing import Any


class HolesAllowed:
    """Cells may be missing, categories or text."""

    _function = "fit"  # of the package, which has options that the estimator lacks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
