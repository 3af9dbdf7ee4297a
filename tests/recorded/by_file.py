"""Files and other packages: networks there and back, and tables from everywhere."""

from pathlib import Path

import material as m
import numpy as np
import pandas as pd
import plain
import polars as pl

import lacunet

ENDINGS = ("bif", "xmlbif", "xdsl", "json")


def networks_there_and_back():
    """What is read back, and from what text."""
    models = {
        "collider": m.drawn(*m.COLLIDER, "H G", seed=1),
        "classes": lacunet.random_model(3, 4, leaf_states=3, seed=2, alpha="bdeu:3"),
    }
    found = {}
    for name, model in models.items():
        for ending in ENDINGS:
            path = f"{name}.{ending}"
            lacunet.write_network(model, path)
            again = lacunet.read_network(path, alpha=1.3)
            text = Path(path).read_text(encoding="utf-8").splitlines()
            found[path] = {"model": plain.model(again), "text": text}
    return found


def alarm_there_and_back():
    model = m.alarm()
    found = {"read": plain.model(model)}
    for ending in ENDINGS:
        lacunet.write_network(model, f"again.{ending}")
        again = lacunet.read_network(f"again.{ending}")
        found[ending] = {
            "theta": plain.plain(np.asarray(again.theta)),
            "names": [v.name for v in again.network.variables],
            "characters": len(Path(f"again.{ending}").read_text(encoding="utf-8")),
        }
    return found


def networks_of_other_packages():
    model = m.drawn(*m.PAIR, "F G", seed=1)
    return {
        "networkx": plain.model(lacunet.from_networkx(lacunet.to_networkx(model))),
        "pgmpy": plain.model(lacunet.from_pgmpy(lacunet.to_pgmpy(model), alpha=1.2)),
        "pyagrum": plain.model(lacunet.from_pyagrum(lacunet.to_pyagrum(model))),
    }


def tables_from_everywhere():
    """The same rows from files, dataframes and arrays, and ways to read them."""
    path = lacunet.dataset_path("survey")
    frame = pl.read_csv(path)
    frame.write_csv("rows.tsv", separator="\t")
    frame.write_parquet("rows.parquet")
    frame.write_ipc("rows.arrow")
    array = np.array([[0, 1, -1], [1, 1, 0], [0, 1, -1], [1, 0, 2]])
    sources = {
        "csv": path,
        "tsv": "rows.tsv",
        "parquet": "rows.parquet",
        "arrow": "rows.arrow",
        "polars": frame,
        "lazy": frame.lazy(),
        "pandas": pd.read_csv(path),
        "pyarrow": frame.to_arrow(),
    }
    found = {name: plain.table(lacunet.read_table(source)) for name, source in sources.items()}
    return found | {
        "array": plain.table(lacunet.read_table(array)),
        "hole": plain.table(lacunet.read_table(array, missing=[-1])),
        "weights": plain.table(
            lacunet.read_table(lacunet.dataset_path("carcinoma"), weights="count", exclude=["A"])
        ),
        "columns": plain.table(
            lacunet.read_table(path, columns=["cars", "home"], missing=["flat", "1 car"])
        ),
        "codes": plain.table(lacunet.Table.from_codes(array, counts=[1.0, 0.5, 2.0, 1.0])),
        "bundled": {
            name: plain.table(lacunet.load_dataset(name))
            for name in ("carcinoma", "values", "myocardial", "survey")
        },
    }
