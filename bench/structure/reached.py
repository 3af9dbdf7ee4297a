"""Does `learn` with missing values reach the bound that a search from the true graph reaches?

`python -m bench.structure.reached LEDGER --networks FOLDER --names asia,random-9-2-0.5-4-8` draws
tables with missing cells and runs `lacunet.learn_structure` twice on each: with its defaults, and
from the graph that made the data. Names are those of `bench.structure.defaults`. Each table is a
line of LEDGER; all lines are printed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import lacunet
from bench.structure.defaults import Draw, network_named, table_of
from lacunet.models.equivalence import equivalence_class, structural_hamming_distance
from lacunet.models.network import Model


def record(model: Model, draw: Draw) -> dict[str, Any]:
    """Learn from one table twice; give the bounds with log p(S), and the SHD of CPDAGs."""
    table, true = table_of(model, draw), equivalence_class(model.network)
    line: dict[str, Any] = {**draw._asdict(), "true": len(true.compelled) + len(true.reversible)}
    names = [v.name for v in model.network.variables]
    edges = [(names[u], names[v]) for v, of in enumerate(model.network.parents) for u in of]
    for name, start in (("default", ()), ("from truth", edges)):
        began = time.process_time()
        knowledge = lacunet.Knowledge(start=start)
        learned = lacunet.learn_structure(table, knowledge=knowledge, threads=1)
        line[name] = max(learned.bounds)
        line[f"{name}, s"] = time.process_time() - began
        line[f"{name}, SHD"] = structural_hamming_distance(equivalence_class(learned.network), true)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--networks", type=Path, default=Path())
    parser.add_argument("--names", default="")
    parser.add_argument("--rows", default="500,2000")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 2), help="first, and behind last")
    parser.add_argument("--missing", type=float, default=0.3)
    options = parser.parse_args()
    for name in filter(None, options.names.split(",")):
        model = network_named(name, options.networks)
        for rows in options.rows.split(","):
            for seed in range(*options.seeds):
                line = record(model, Draw(name, int(rows), seed, options.missing))
                with options.ledger.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    lines = [json.loads(x) for x in options.ledger.read_text(encoding="utf-8").splitlines()]
    for x in lines:
        gap = x["default"] - x["from truth"]
        print(
            f"{x['network']:24} {x['rows']:5} {x['seed']:3}  default less from truth {gap:+8.2f}  "
            f"SHD {x['default, SHD']} and {x['from truth, SHD']} of {x['true']}  "
            f"{x['default, s']:.1f} s"
        )
    reached = sum(x["default"] > x["from truth"] - 1.0 for x in lines)
    print(f"within a nat, or above: {reached} of {len(lines)}")


if __name__ == "__main__":
    main()
