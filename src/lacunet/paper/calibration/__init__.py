"""How sure is sure? Posteriors and error bars, judged on data drawn from the prior itself."""
