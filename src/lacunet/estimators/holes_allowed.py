"""What every estimator tells scikit-learn of the tables that it takes."""

from typing import Any


class HolesAllowed:
    """Cells may be missing, categories or text."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
