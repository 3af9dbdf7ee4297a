"""The evidence log p(D|S): exactly where that is affordable, else sampled, with error bars.

Start at `measure.measure`, which chooses the method. Exact sums are in `exact`, sequential Monte
Carlo in `smc`, annealed importance sampling in `annealing`, `modes` and `ais`. Bridge sampling is
in `bridge` and `proposals`, the walk over partitions in `partitions`. `estimate` turns log weights
into an estimate with an error, `consistency` checks it against bounds. `regression` has classes
that covariates predict, `trait` and `shaped_classes` have alternatives to latent classes.
"""
