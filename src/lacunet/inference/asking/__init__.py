"""Questions to a model: posteriors and likelihoods of rows, and the rank of what they tell."""
