"""pgmpy's hill climbing on complete data: `python run_pgmpy.py INPUT.npz`, one JSON line out.

INPUT.npz holds `codes` (rows, variables) and `names`. Imports nothing of Lacunet.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
import pandas as pd  # noqa: E402
import pgmpy  # noqa: E402
from pgmpy.estimators import BDeu, HillClimbSearch  # noqa: E402

PARENTS = 4


def main() -> None:
    given = np.load(sys.argv[1])
    names = [str(name) for name in given["names"]]
    frame = pd.DataFrame(given["codes"].astype(str), columns=names).astype("category")
    search = HillClimbSearch(frame)
    began = time.perf_counter()
    # Without a limit its search ends in families of 36 parents, whose scores overflow.
    score = BDeu(frame, equivalent_sample_size=10)
    found = search.estimate(scoring_method=score, max_indegree=PARENTS, show_progress=False)
    elapsed = time.perf_counter() - began
    edges = [[str(u), str(v)] for u, v in found.edges()]
    print(
        json.dumps(
            {"peer": "pgmpy", "version": pgmpy.__version__, "seconds": elapsed, "edges": edges}
        )
    )


if __name__ == "__main__":
    main()
