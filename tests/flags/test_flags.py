"""Flags are values: a sentence with numbers in it, equal and hashed by kind, place and detail."""

import pickle
from dataclasses import replace

from lacunet.evidence.estimate import Verdict
from lacunet.flags import Flag, Kind, Sizes

FLAG = Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": 1.234})


def test_a_flag_is_a_sentence_with_its_numbers():
    assert str(FLAG) == f"{FLAG}"
    assert "R̂ = 1.23" in str(FLAG)
    assert repr(FLAG) == f"<CHAINS_DISAGREE: {FLAG}>"
    assert str(replace(FLAG, fits=Sizes((2, 3), "classes"))) == f"2, 3 classes: {FLAG}"


def test_a_flag_survives_pickling():
    copy = pickle.loads(pickle.dumps(FLAG))
    assert copy == FLAG
    assert hash(copy) == hash(FLAG)


def test_detail_distinguishes_flags():
    one, other = (Flag(Kind.EMPTY_CLASS, ("class", "1"), {"cases": x}) for x in (0.1, 0.2))
    assert one != other
    assert len({one, other, replace(one)}) == 2


def test_a_verdict_agrees_with_its_flag():
    assert str(Flag(Kind.LOWER_BOUND)) == Verdict.LOWER_BOUND
