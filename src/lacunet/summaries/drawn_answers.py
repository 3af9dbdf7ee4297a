"""What pictures show of an item: its answers, or how far up it is, between 0 and 1 either way."""

from lacunet.models.network import Variable
from lacunet.summaries.intervals import shown_states


def drawn_answers(v: Variable) -> dict[int, str]:
    """Give places of an item's table that are probabilities or shares, and what they are.

    Of two states the second. Ordered answers have one: the mean, from the lowest answer (0) to the
    highest (1). Other numbers have none.
    """
    if v.family.tabular:
        return {k: v.labels[k] for k in shown_states(v)}
    if v.family.on_a_scale:
        low, high = v.ends
        return {1: f"mean, {low:g} to {high:g}"}
    return {}


def drawn_name(v: Variable, place: int) -> str:
    """Name one of them, with its item."""
    return f"{v.heading}{' = ' if v.family.tabular else ': '}{drawn_answers(v)[place]}"
