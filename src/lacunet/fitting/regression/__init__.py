"""Classes that covariates predict: the function to climb, its maximum, and how sharp it is."""
