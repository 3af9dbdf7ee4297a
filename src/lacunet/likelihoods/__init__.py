"""Likelihoods and their conjugate priors, one file each.

Start with `likelihood`, the interface; `conjugate_prior` adds integrals over parameters.
"""

from lacunet.likelihoods.binomial import POISSON, Binomial, Poisson
from lacunet.likelihoods.categorical import CATEGORICAL
from lacunet.likelihoods.conjugate_prior import ConjugatePrior, with_prior
from lacunet.likelihoods.fixed import Fixed, Tied
from lacunet.likelihoods.gaussian import GAUSSIAN, Gaussian, GaussianBlock
from lacunet.likelihoods.likelihood import Likelihood, Segment
from lacunet.likelihoods.logit import Logit

__all__ = [
    "CATEGORICAL",
    "GAUSSIAN",
    "POISSON",
    "Binomial",
    "ConjugatePrior",
    "Fixed",
    "Gaussian",
    "GaussianBlock",
    "Likelihood",
    "Logit",
    "Poisson",
    "Segment",
    "Tied",
    "with_prior",
]
