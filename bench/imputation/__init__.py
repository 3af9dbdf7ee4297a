"""Holes of real tables, filled in by `Imputer` and by scikit-learn's imputers."""
