"""Tables on which every latent class program is tried, and the maxima that are known there.

`gss82` and `cheating` are data sets of the R package poLCA (Linzer & Lewis 2011), here as patterns
with the number of people who gave them. gss82: 1,202 respondents of the General Social Survey of
1982 about surveys (McCutcheon 1987). cheating: 319 students, four kinds of cheating (Dayton 1998).
"""

import polars as pl

from election import ITEMS, election
from lacunet.data.read import dataset_path, load_dataset, read_table
from lacunet.data.table import Table

COLUMNS = {
    "cheating": ("LIEEXAM", "LIEPAPER", "FRAUD", "COPYEXAM"),
}
PEOPLE = {
    "cheating": "1111:207 2111:10 1211:13 2211:11 1121:7 2121:1 1221:1 2221:1 1112:46 2112:3 "
    "1212:4 2212:4 1122:5 2122:2 1222:2 2222:2",
}
# The greatest log-likelihood of 2, 3 and 4 classes (incomplete rows left out, as in poLCA).
LIKELIEST = {
    "gss82": (-2783.26801, -2754.54540, -2746.62081),
    "cheating": (-440.02711, -436.23558, -436.14499),
    "values": (-504.46767, -503.30114, -503.10771),
    "carcinoma": (-317.25684, -293.70498, -289.28585),
    "election": (-17344.92253, -16714.65914, -16350.58892),
}
# The greatest log p(D|θ) + log p(θ), all exponents 1.01, from hundreds of random starts of EM.
MOST_PROBABLE = {
    "gss82": (-2780.52685, -2749.85205, -2739.47287),
    "cheating": (-440.05691, -435.58117, -434.39569),
    "values": (-504.49341, -502.66337, -501.36476),
    "carcinoma": (-317.64408, -293.73281, -288.53035),
    "election": (-17302.05622, -16649.82392, -16263.65245),
}


def patterns(name: str) -> pl.DataFrame:
    """A row for each pattern, with the number of people in the last column."""
    if name not in PEOPLE:
        counted = pl.read_csv(dataset_path(name), infer_schema=False)
        return counted.with_columns(pl.col("count").cast(pl.Int64))
    rows = [one.split(":") for one in PEOPLE[name].split()]
    answers = [dict(zip(COLUMNS[name], pattern, strict=True)) for pattern, _ in rows]
    return pl.DataFrame(answers).with_columns(count=pl.Series([int(n) for _, n in rows]))


def classic(name: str) -> Table:
    """A table by its name."""
    if name == "election":
        return read_table(election()[ITEMS].dropna())
    if name in PEOPLE:
        return read_table(patterns(name), weights="count")
    return load_dataset(name)
