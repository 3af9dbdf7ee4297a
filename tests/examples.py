"""How many examples Hypothesis draws: what a test asks for, in proportion to the profile."""

from hypothesis import settings

# Of a test that asks for nothing, by profile. They are the same in every run: `make properties`
# draws more of them.
EXAMPLES = {"lacunet": 25, "quick": 4, "thorough": 250}


def examples(number, **options):
    """Settings with so many examples; in `make quick` with a few of them, at least three."""
    share = settings.default.max_examples / EXAMPLES["lacunet"]
    return settings(max_examples=max(3, round(number * share)), **options)
