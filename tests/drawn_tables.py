"""Tables drawn in the shape of well-known ones: kinds of columns, ranges and missing cells.

Nothing is copied. What makes the originals hard is drawn too: names and tickets that nearly every
row has for itself, skewed amounts, many zeros, columns that follow from others, rounded numbers,
categories that one row shows, rows without any measurement, integers with missing cells.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd


class Shape(NamedTuple):
    """How a table is drawn, and columns that do not describe its rows but are explained by them."""

    draw: Callable[[np.random.Generator, int], pd.DataFrame]
    rows: int  # of the original
    outcome: str
    covariate: str
    items: tuple[str, ...]  # a few columns of different kinds: what small runs look at


def table(name, rows=None, seed=0):
    """Draw a table of a shape, of as many rows as the original has, or fewer."""
    shape = SHAPES[name]
    return shape.draw(np.random.default_rng(seed), rows or shape.rows)


def _lost(frame, rng, **shares):
    """The same with missing cells."""
    missing = {c: rng.random(len(frame)) < shares.get(c, 0.0) for c in frame.columns}
    return frame.mask(pd.DataFrame(missing, index=frame.index))


def _words(rng, group, words, right=0.7):
    """A word of the group of each row, or any."""
    words = np.array(words, dtype=object)
    chosen = words[np.asarray(group) % len(words)]
    return np.where(rng.random(len(chosen)) < right, chosen, rng.choice(words, len(chosen)))


def _whole(x, low, high):
    """Whole numbers, as a table with missing cells has them."""
    return pd.array(np.clip(np.rint(x), low, high).astype(int), dtype="Int64")


def autos(rng, n):
    """Cars: lengths, weights and powers that follow from size, prices, a few rare categories."""
    size, makes = rng.normal(size=n), [f"make{k:02}" for k in range(22)]
    power = np.exp(4.6 + 0.35 * size + rng.normal(0, 0.2, n))
    frame = pd.DataFrame(
        {
            "symboling": np.clip(np.rint(1 - size + rng.normal(0, 0.8, n)), -3, 3).astype(int),
            "normalized-losses": _whole(122 + rng.normal(0, 35, n), 65, 256),
            "make": rng.choice(makes, n, p=np.arange(22, 0, -1) / 253),
            "fuel-type": np.where(rng.random(n) < 0.1, "diesel", "gas"),
            "num-of-doors": _words(rng, size > 0, ["two", "four"]),
            "body-style": _words(rng, (size > 0) + 2 * (size > 1), ["hatch", "sedan", "wagon"]),
            "engine-location": np.where(np.arange(n) == n // 2, "rear", "front"),
            "wheel-base": (98.8 + 5 * size + rng.normal(0, 2, n)).round(1),
            "length": (174 + 11 * size + rng.normal(0, 3, n)).round(1),
            "curb-weight": _whole(2555 + 480 * size + rng.normal(0, 120, n), 1488, 4066),
            "bore": (3.33 + 0.2 * size + rng.normal(0, 0.15, n)).round(2),
            "compression-ratio": np.where(rng.random(n) < 0.1, 22.0, 9.0).round(1),
            "horsepower": _whole(power, 48, 288),
            "city-mpg": _whole(2500 / power + rng.normal(0, 2, n), 13, 49),
            "price": _whole(np.exp(9.3 + 0.5 * size + rng.normal(0, 0.25, n)), 5118, 45400),
        }
    )
    frame["highway-mpg"] = frame["city-mpg"] + 6  # follows from another
    missing = {"normalized-losses": 0.2, "num-of-doors": 0.01, "bore": 0.02, "price": 0.02}
    return _lost(frame, rng, **missing)


def penguins(rng, n):
    """Three species: millimetres, grams in steps of 25, two rows without any measurement."""
    kind = rng.choice(3, n, p=[0.44, 0.2, 0.36])
    frame = pd.DataFrame(
        {
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
            "island": _words(rng, kind, ["Torgersen", "Dream", "Biscoe"]),
            "bill_length_mm": (np.array([39, 49, 47.5])[kind] + rng.normal(0, 3, n)).round(1),
            "bill_depth_mm": (np.array([18.3, 18.4, 15])[kind] + rng.normal(0, 1.1, n)).round(1),
            "flipper_length_mm": _whole(
                np.array([190, 196, 217])[kind] + 6.5 * rng.normal(size=n), 172, 231
            ),
            "body_mass_g": _whole(
                25 * np.rint(np.array([148, 149, 203])[kind] + rng.normal(0, 18, n)), 2700, 6300
            ),
            "sex": rng.choice(["female", "male"], n),
            "year": rng.integers(2007, 2010, n),
        }
    )
    frame.loc[[1, n - 2], "bill_length_mm":"sex"] = None
    return _lost(frame, rng, sex=0.03)


def titanic(rng, n):
    """Passengers: names, tickets and cabins of their own, ages with halves, fares with zeros."""
    first = rng.choice(3, n, p=[0.25, 0.2, 0.55])
    female = rng.random(n) < 0.36
    survived = rng.random(n) < np.where(female, 0.72, 0.2)
    age = np.clip(rng.normal(38 - 6 * first, 13), 0.42, 80)
    fare = np.exp(np.array([4.2, 2.8, 2.3])[first] + rng.normal(0, 0.6, n)).round(4)
    frame = pd.DataFrame(
        {
            "name": [f"Surname {i:04}, Mr. {i % 97}" for i in range(n)],
            "pclass": first + 1,
            "survived": survived.astype(int),
            "sex": np.where(female, "female", "male"),
            "age": np.where(age < 1, age.round(2), np.floor(age * 2) / 2),
            "sibsp": np.minimum(rng.poisson(0.5, n), 8),
            "parch": np.minimum(rng.poisson(0.4, n), 6),
            "ticket": [f"PC {10_000 + i - i % 3}" for i in rng.permutation(n)],
            "fare": np.where(rng.random(n) < 0.02, 0.0, fare),
            "cabin": [f"C{i}" for i in range(n)],
            "embarked": rng.choice(["S", "C", "Q"], n, p=[0.7, 0.2, 0.1]),
            "body": _whole(rng.permutation(n) + 1, 1, n),
        }
    )
    missing = {"age": 0.2, "cabin": 0.77, "embarked": 0.002, "body": 0.9, "fare": 0.001}
    return _lost(frame, rng, **missing)


def credit(rng, n):
    """Loans: ordered answers as texts, months, skewed amounts in whole numbers; complete."""
    good = rng.random(n) < 0.7
    months = rng.choice([6, 9, 12, 15, 18, 24, 30, 36, 48, 60], n)
    return pd.DataFrame(
        {
            "checking_status": _words(rng, good, ["<0", "no checking", "0<=X<200"], 0.5),
            "duration": months + (rng.random(n) < 0.1) * rng.integers(1, 5, n),
            "credit_history": _words(rng, good, ["existing paid", "critical", "all paid"], 0.4),
            "purpose": rng.choice(["radio/tv", "new car", "furniture", "education", "repairs"], n),
            "credit_amount": np.exp(6.5 + months / 40 + rng.normal(0, 0.6, n)).astype(int),
            "savings_status": rng.choice(["<100", "100<=X<500", ">=1000", "unknown"], n),
            "installment_commitment": rng.integers(1, 5, n),
            "personal_status": rng.choice(["male single", "female div/dep/mar"], n),
            "age": np.clip(19 + rng.gamma(2, 8, n), 19, 75).astype(int),
            "num_dependents": 1 + (rng.random(n) < 0.15),
            "foreign_worker": np.where(rng.random(n) < 0.96, "yes", "no"),
            "class": np.where(good, "good", "bad"),
        }
    )


def satellites(rng, n):
    """Pictures of soils: four spectral bands of nine neighbours, 36 whole numbers, and a class."""
    kind = rng.choice(6, n, p=[0.24, 0.11, 0.21, 0.1, 0.11, 0.23])
    means = np.array([[62, 95, 108, 88], [48, 39, 113, 118], [87, 105, 110, 87]] * 2)
    means = means - np.arange(6)[:, None] * [2, 1, 3, 4]
    centres = means[kind] + rng.normal(0, 4, (n, 4))
    bands = np.repeat(centres[:, None, :], 9, axis=1) + rng.normal(0, 3, (n, 9, 4))
    pixels = np.clip(np.rint(bands.reshape(n, 36)), 27, 157).astype(int)
    frame = pd.DataFrame(pixels, columns=[f"A{j}" for j in range(1, 37)])
    return frame.assign(soil=np.array([1, 2, 3, 4, 5, 7])[kind])


def thoracic(rng, n):
    """Patients: codes, volumes of which a few are in another unit, answers that hardly vary."""
    size = rng.normal(size=n)
    volume = (2.6 + 0.6 * size + rng.normal(0, 0.5, n)).clip(0.96).round(2)
    frame = pd.DataFrame(
        {
            "DGN": rng.choice(["DGN3", "DGN2", "DGN4", "DGN1"], n, p=[0.75, 0.11, 0.1, 0.04]),
            "PRE4": (3.3 + 0.8 * size + rng.normal(0, 0.3, n)).clip(1.44).round(2),
            "PRE5": np.where(rng.random(n) < 0.03, (volume * 30).round(1), volume),
            "PRE6": rng.choice(["PRZ0", "PRZ1", "PRZ2"], n, p=[0.28, 0.66, 0.06]),
            "PRE14": rng.choice(["OC11", "OC12", "OC13", "OC14"], n, p=[0.37, 0.55, 0.04, 0.04]),
            "AGE": np.clip(np.rint(62.5 + 8.7 * rng.normal(size=n)), 21, 87).astype(int),
        }
    )
    shares = {"PRE7": 0.07, "PRE8": 0.15, "PRE9": 0.07, "PRE10": 0.69, "PRE17": 0.07, "PRE25": 0.02}
    for name, share in shares.items():
        frame[name] = np.where(rng.random(n) < share, "T", "F")
    frame["PRE19"] = "F"  # the same in every row
    frame["Risk1Yr"] = np.where(rng.random(n) < 0.15, "T", "F")
    return frame


def fires(rng, n):
    """Forest fires: months and days as texts, weather, rain and area that are often 0."""
    heat = rng.normal(size=n)
    area = np.exp(rng.normal(1.2, 1.5, n)).clip(max=1090.84).round(2)
    frame = pd.DataFrame(
        {
            "X": rng.integers(1, 10, n),
            "Y": rng.integers(2, 10, n),
            "month": _words(rng, heat > 0, ["mar", "aug", "sep", "jul", "dec"], 0.5),
            "day": rng.choice(["mon", "tue", "wed", "thu", "fri", "sat", "sun"], n),
            "FFMC": (96.2 - np.exp(rng.normal(1.2, 0.8, n))).clip(18.7).round(1),
            "DMC": (110 + 60 * heat + rng.normal(0, 20, n)).clip(1.1).round(1),
            "DC": (550 + 230 * heat + rng.normal(0, 50, n)).clip(7.9, 860.6).round(1),
            "ISI": np.exp(2.1 + 0.3 * heat + rng.normal(0, 0.3, n)).round(1),
            "temp": (18.9 + 5 * heat + rng.normal(0, 2, n)).round(1),
            "RH": np.clip(np.rint(44 - 10 * heat + rng.normal(0, 10, n)), 15, 100).astype(int),
            "wind": (0.4 + 0.45 * rng.integers(0, 20, n)).round(1),
            "rain": np.where(rng.random(n) < 0.015, 0.2, 0.0),
            "area": np.where(rng.random(n) < 0.48, 0.0, area),
        }
    )
    frame.loc[n // 2, "rain"] = 6.4
    return frame


SHAPES = {
    "autos": Shape(autos, 205, "price", "body-style", ("fuel-type", "horsepower", "bore")),
    "penguins": Shape(
        penguins, 344, "year", "island", ("species", "sex", "body_mass_g", "bill_depth_mm")
    ),
    "titanic": Shape(titanic, 1309, "survived", "pclass", ("sex", "age", "fare", "embarked")),
    "credit": Shape(credit, 1000, "class", "age", ("checking_status", "duration", "credit_amount")),
    "satellites": Shape(satellites, 6435, "soil", "A36", ("A1", "A2", "A17", "A20")),
    "thoracic": Shape(thoracic, 470, "Risk1Yr", "AGE", ("DGN", "PRE4", "PRE5", "PRE10")),
    "fires": Shape(fires, 517, "area", "temp", ("month", "FFMC", "rain", "RH", "wind")),
}
