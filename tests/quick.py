"""Scores by what they cost, and sampling that is just long enough to run."""

from unittest.mock import patch

from lacunet.scores import choose_scores, wbic

AT_THETA = choose_scores("laplace,cs,mled,draper,bic,bd,icl")  # nothing is climbed, nothing fitted


def quick_sampling(warm_up=60, draws=60):
    """Let WBIC draw so much and no more."""
    return patch.multiple(wbic, WARM_UP=warm_up, ROUND=draws, ROUNDS=1)
