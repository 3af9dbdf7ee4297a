"""Scores by what they cost."""

from lacunet.scores import choose_scores

AT_THETA = choose_scores("laplace,cs,mled,draper,bic,bd,icl")  # nothing is climbed, nothing fitted
