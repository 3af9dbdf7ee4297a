"""Classes that covariates predict: the design, and the problem that it makes of a table."""
