"""Covariates that predict classes: fitted, and compared with models that leave some out."""
