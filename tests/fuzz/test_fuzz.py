"""A short run of the fuzzer: the corpus, and some inputs near it. `make fuzz` runs it for long."""

import pytest

from fuzz.mutations import mutated
from fuzz.targets import TARGETS, seeds

INPUTS = {"options": 25}  # those of a command line take longest
USUAL = 150


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_near_the_corpus_end_in_an_answer_or_a_sentence(name):
    known = seeds(name)
    for data in (*known, *mutated(known, INPUTS.get(name, USUAL), seed=1)):
        TARGETS[name](data)
