"""The 2000 American National Election Study, as the R package poLCA distributes it.

1,785 people say how well six traits describe each of two candidates (1 extremely well … 4 not well
at all). Source: The National Election Studies, the 2000 National Election Study, Ann Arbor, MI:
University of Michigan, Center for Political Studies; the selection of items and people is that of
poLCA (Linzer & Lewis 2011), data set `election`. `data/election.txt.gz` has a line for each
person: a digit for each column but the last, which is the age; a dot where nothing is known.
"""

import gzip
from pathlib import Path

import pandas as pd

TRAITS = ("MORAL", "CARES", "KNOW", "LEAD", "DISHON", "INTEL")
ITEMS = [f"{trait}{candidate}" for candidate in "GB" for trait in TRAITS]
ANSWERS = {
    "1": "1 Extremely well",
    "2": "2 Quite well",
    "3": "3 Not too well",
    "4": "4 Not well at all",
}
OTHERS = ["VOTE3", "EDUC", "GENDER", "PARTY", "AGE"]
FILE = Path(__file__).parent / "data" / "election.txt.gz"


def election() -> pd.DataFrame:
    """Answers as texts, everything else as numbers."""
    width = len(ITEMS) + len(OTHERS) - 1
    lines = gzip.decompress(FILE.read_bytes()).decode("ascii").splitlines()
    rows = [[*line[:width], line[width:]] for line in lines]
    result = pd.DataFrame(rows, columns=[*ITEMS, *OTHERS]).replace(".", None)
    result[ITEMS] = result[ITEMS].replace(ANSWERS)
    result[OTHERS] = result[OTHERS].astype("Int64")
    return result


def write_election(folder: Path) -> None:
    """Write the file that R writes of it."""
    election().to_csv(folder / "election.csv", index=False, na_rep="NA")
