"""The evidence of classes that covariates predict: at the mode, and measured."""
