"""`lacunet paper`: the command goes on where it stopped, so it is made to stop near the end.

The whole of it takes an hour. Results that are there already are not computed again: all but the
cheapest come from a formula, and are written into the results file before the command runs.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import material as m

# CH96: n leaves, c states of the root, N cases; and the numbers of states that are tried.
PANELS = (
    *((n, 4, 400) for n in (8, 16, 32, 64)),
    *((64, c, 400) for c in (32, 16, 8)),
    *((32, 4, N) for N in (100, 200, 800)),
)
STATES = {4: range(2, 9), 8: range(3, 15), 16: range(6, 25), 32: range(8, 41)}
MEASURED = {
    4: range(2, 9),
    8: (3, 4, 5, 6, 7, 8, 9, 10, 12, 14),
    16: (6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 20, 24),
    32: (8, 12, 16, 20, 24, 26, 28, 30, 32, 34, 36, 40),
}
REALITY = ((12, 3, 800), (16, 4, 800), (24, 4, 800))
REPEATED = ((16, 4, 400), (32, 4, 400))
SCORES = ("laplace", "cs", "mled", "draper", "bic")
OTHERS = ("csl", "vb", "csl-occupied", "vb-occupied", "icl")
WAYS = ("default", "paper", "thorough", "highest", "generating")
SMALLEST = (8, 4, 400)


def paper():
    _write("out/results.jsonl", [r for r in _results() if not _computed(r)])
    options = ("--models", 1, "--datasets", 1, "--threads", 1)
    ran = m.printed("paper", "--out", "out", *options)
    done = [r for r in map(json.loads, _lines("out/results.jsonl")[1:]) if _computed(r)]
    return ran | {
        "computed": m.plain.plain(sorted(done, key=lambda r: (r["kind"], r["states"]))),
        "table1": m.read_json("out/table1.json"),
        "reality": m.read_json("out/reality_check.json"),
        "figures": {str(i): m.written(f"out/figure{i}.csv") for i in (1, 2, 3)},
    }


def paper_against_evidence():
    _write("out/truth.jsonl", [r for r in _truths() if not _computed(r)])
    options = ("--models", 1, "--datasets", 1, "--target", 2, "--budget", "1h", "--threads", 1)
    ran = m.printed("paper", "--out", "out", "--truth", *options)
    done = [r for r in map(json.loads, _lines("out/truth.jsonl")[1:]) if _computed(r)]
    return ran | {"computed": m.plain.plain(done), "truth": _tables("out/truth.json")}


def _computed(record: dict) -> bool:
    """Fits of the smallest experiment with few states, and a comparison of its size."""
    place = (record["n"], record["c"], record["N"])
    if record["kind"] == "reality":
        return place == REALITY[0]
    return place == SMALLEST and record["states"] in ((2,) if record["kind"] == "truth" else (2, 3))


def _results() -> Iterator[dict]:
    for panel in PANELS:
        yield from (_fit(panel, k, 0.01) for k in STATES[panel[1]])
    for panel in REALITY:
        difference = -20.0 - panel[0]
        told = {"hidden_states": panel[1], "laplace": difference - 4000.0, "log_bd": -4000.0}
        more = {"edges": 9, "difference": difference, "seconds": {"all": 1.0}}
        yield _task("reality", panel, 0, 0.01) | told | more
    for epsilon in (0.001, 0.1):
        for panel in REPEATED:
            yield from (_fit(panel, k, epsilon) for k in STATES[panel[1]])


def _fit(panel: tuple[int, int, int], k: int, epsilon: float) -> dict:
    return _task("fit", panel, k, epsilon) | {
        "dimension": k * (panel[0] + 1) - 1,
        "scores": {name: _curve(panel, k, i) for i, name in enumerate(SCORES)},
        "log_posterior": _curve(panel, k, 9),
        "converged": "relative change of g below 1e-5",
        "scaled_gradient": 0.01 * k,
        "gap": 0.001 * k,
        "seconds": {"em": 1.0, **dict.fromkeys(SCORES, 0.1 * k)},
    }


def _truths() -> Iterator[dict]:
    for panel in PANELS:
        for k in MEASURED[panel[1]]:
            value = _curve(panel, k, 0)
            names = (*SCORES, *OTHERS)
            scores = {name: _curve(panel, k, i) for i, name in enumerate(names)}
            yield _task("truth", panel, k, 0.01) | {
                "dimension": k * (panel[0] + 1) - 1,
                "scores": scores,
                "log_posterior": value,
                "truth": {
                    "value": value,
                    "one_labelling": value - 0.5 * k,
                    "stderr": 0.1,
                    "verdict": "reliable",
                    "method": "smc",
                    "used": {str(k): 1.0},
                },
                "starts": {
                    way: {
                        "log_posterior": value + i,
                        "scores": {name: scores[name] + i for name in ("cs", "laplace")},
                        "seconds": 1.0,
                    }
                    for i, way in enumerate(WAYS)
                },
                "seconds": {"em": 1.0, "evidence": 2.0, **dict.fromkeys(names, 0.5)},
            }


def _curve(panel: tuple[int, int, int], k: int, shift: int) -> float:
    """Highest a little below c, by another little for each score."""
    n, c, N = panel
    return -0.5 * n * N - 3.0 * (k - c + 0.4 * shift + 0.1) ** 2


def _task(kind: str, panel: tuple[int, int, int], states: int, epsilon: float) -> dict:
    place = dict(zip(("n", "c", "N"), panel, strict=True))
    which = {"model": 0, "dataset": 0, "states": states, "epsilon": epsilon}
    return {"kind": kind, **place, **which}


def _write(path: str, records: list[dict]) -> None:
    header = {"format": "lacunet-paper/1", "seed": 0, "starts": 64}
    Path(path).parent.mkdir()
    text = "\n".join(json.dumps(record) for record in (header, *records))
    Path(path).write_text(text + "\n", encoding="utf-8")


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


def _tables(path: str) -> dict:
    """All tables but that of seconds."""
    found = m.read_json(path)
    return {name: table for name, table in found.items() if name != "costs"}
