"""Calibration: posteriors and error bars, judged on data from the prior and from other priors."""
