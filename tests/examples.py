"""How many examples Hypothesis draws: what a test asks for, in proportion to the profile."""

from hypothesis import settings

EXAMPLES = {"lacunet": 40, "quick": 4}  # of a test that asks for nothing, by profile


def examples(number, **how):
    """Settings with so many examples; in `make quick` with a few of them, at least three."""
    share = settings.default.max_examples / EXAMPLES["lacunet"]
    return settings(max_examples=max(3, round(number * share)), **how)
