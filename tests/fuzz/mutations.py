"""Inputs near those of the corpus: bytes changed, cut, doubled, and pieces of others put in."""

from collections.abc import Iterator, Sequence

import numpy as np

WORDS = (b"\0", b"\xff", b'"', b"\n", b"{", b"}", b"[", b"(", b"1e999", b"-0", b"NaN", b"/*", b"<")


def mutated(seeds: Sequence[bytes], number: int, seed: int) -> Iterator[bytes]:
    """Give so many, the same for the same seed."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        data = bytearray(seeds[rng.integers(len(seeds))])
        for _ in range(rng.integers(1, 6)):
            _change(data, seeds, rng)
        yield bytes(data)


def _change(data: bytearray, seeds: Sequence[bytes], rng: np.random.Generator) -> None:
    at = int(rng.integers(len(data) + 1))
    until = at + int(rng.integers(1, 30))
    match int(rng.integers(5)):
        case 0 if at < len(data):
            data[at] = int(rng.integers(256))
        case 1:
            del data[at:until]
        case 2:
            data[at:at] = data[at:until] * int(rng.integers(1, 40))
        case 3:
            data[at:at] = WORDS[rng.integers(len(WORDS))]
        case _:
            other = seeds[rng.integers(len(seeds))]
            start = int(rng.integers(len(other) + 1))
            data[at:at] = other[start : start + int(rng.integers(1, 60))]
