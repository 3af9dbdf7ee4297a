"""How many examples Hypothesis draws: what a test asks for, in proportion to the profile."""

from hypothesis import settings

EXAMPLES = {"lacunet": 60, "quick": 6}  # of a test that asks for nothing, by profile


def examples(number, **how):
    """Settings with so many examples; with a tenth of them, at least three, in `make quick`."""
    share = settings.default.max_examples / EXAMPLES["lacunet"]
    return settings(max_examples=max(3, round(number * share)), **how)
