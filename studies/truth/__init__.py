"""CH96's experiments against the measured evidence, instead of against Laplace."""
