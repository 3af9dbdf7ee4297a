"""Every command, as its --json prints it, and the files that it writes."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import material as m
import plain

import lacunet

QUICK = ("--starts", 8)
COUNTS = ("--weights", "count")


def select_carcinoma():
    return m.printed("select", m.bundled("carcinoma"), *COUNTS, "--states", "1:4", "--criteria")


def select_every_score():
    data = m.bundled("values")
    return m.printed("select", data, *COUNTS, "--states", "1:3", "--scores", "all", *QUICK)


def select_survey_ml():
    options = ("--states", "2,4", "--estimate", "ml", *QUICK, "--seed", 3, "--threads", 2)
    return m.printed("select", m.bundled("survey"), *options, "--exclude", "office days")


def select_some_columns_and_markers():
    options = ("--columns", "home,area,cars", "--columns", "satisfied", "--missing", "flat,village")
    return m.printed("select", m.bundled("survey"), *options, "--states", "1:3", *QUICK)


def select_missing_as_state():
    options = ("--states", "1:3", "--missing-as-state", *QUICK)
    return m.printed("select", m.bundled("survey"), *options)


def select_with_prior_and_rank():
    options = ("--states", "2:4", "--prior", "1,2,0.5", "--dimension", "rank", "--alpha", "bdeu:8")
    return m.printed("select", m.bundled("carcinoma"), *COUNTS, *options, *QUICK)


def select_network():
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    lacunet.write_network(model, "net.json")
    lacunet.simulate(model, 300, seed=2, missing_rate=0.1).write_csv("rows.csv")
    hidden = ("--network", "net.json", "--hidden", "H", "--hidden", "G=2")
    return m.printed("select", "rows.csv", *hidden, "--states", "1:3", "--criteria", *QUICK)


def select_two_hidden_in_every_combination():
    model = m.drawn(*m.PAIR, "F G", seed=1)
    lacunet.write_network(model, "net.xdsl")
    lacunet.simulate(model, 250, seed=2, missing_rate=0.05).write_csv("rows.csv")
    return m.printed("select", "rows.csv", "--network", "net.xdsl", "--states", "1,2", *QUICK)


def select_saved():
    data = m.bundled("carcinoma")
    ran = m.printed("select", data, *COUNTS, "--states", "2,3", *QUICK, "--save", "out")
    files = sorted(p.name for p in Path("out").iterdir())
    return ran | {
        "files": files,
        "candidates.csv": {
            k: v for k, v in m.written("out/candidates.csv").items() if k != "seconds"
        },
        "selection.txt": m.lines(Path("out/selection.txt").read_text(encoding="utf-8")),
        "selection.json": m.read_json("out/selection.json"),
        "models": {name: m.read_json(f"out/{name}") for name in files if name.startswith("model")},
    }


def select_report():
    """The texts of the page, without what is about this computer and its clock."""
    data = m.bundled("survey")
    m.command("select", data, "--states", "1:3", *QUICK, "--report", "page.html", "--json")
    return {"texts": _page("page.html")}


def select_network_report():
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    lacunet.write_network(model, "net.json")
    lacunet.simulate(model, 200, seed=2, missing_rate=0.1).write_csv("rows.csv")
    options = ("--network", "net.json", "--hidden", "H", "--states", "1:2", *QUICK, "--calibrate")
    m.command(
        "select", "rows.csv", *options, "--target", 0.5, "--budget", "1h", "--report", "p.html"
    )
    return {"texts": _page("p.html")}


class _Texts(HTMLParser):
    """Texts and drawn places of a page; styles and scripts are no results."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.skip = False

    def handle_starttag(self, tag, attrs):
        self.skip = tag in ("style", "script")
        drawn = [
            v for k, v in attrs if k in ("d", "points", "cx", "cy", "title", "aria-label") and v
        ]
        self.found += [] if self.skip else drawn

    def handle_endtag(self, tag):
        self.skip = False

    def handle_data(self, data):
        if not self.skip and data.strip():
            self.found.append(" ".join(data.split()))


def _page(path: str) -> list[str]:
    reader = _Texts()
    reader.feed(Path(path).read_text(encoding="utf-8"))
    own = re.compile(r"Lacunet \d|Python \d|s, over all threads")
    return [text for text in reader.found if not own.search(text)]


def select_with_evidence():
    options = ("--states", "1:3", "--evidence", "--target", 0.3, "--budget", "1h", *QUICK)
    return m.printed("select", m.bundled("values"), *COUNTS, *options)


def select_calibrated():
    options = ("--states", "1:4", "--calibrate", "--target", 0.5, "--budget", "1h", *QUICK)
    return m.printed("select", m.bundled("carcinoma"), *COUNTS, *options)


def select_as_text():
    data = m.bundled("carcinoma")
    ran = m.command("select", data, *COUNTS, "--states", "2,3", "--criteria", *QUICK)
    return {"code": ran.code, "said": ran.said, "text": m.lines(ran.out)}


def fit_described():
    options = ("--states", 2, "--intervals", "--level", 0.9, "--statistics", *QUICK)
    return m.printed("fit", m.bundled("carcinoma"), *COUNTS, *options)


def fit_in_every_format():
    arguments = ("fit", m.bundled("values"), *COUNTS, "--states", 2, "--intervals", "--statistics")
    return {
        form: m.command(*arguments, *QUICK, "--format", form).out.splitlines()
        for form in ("text", "csv", "markdown", "latex")
    }


def fit_bootstrap_like_another():
    data = m.bundled("carcinoma")
    options = (*COUNTS, "--states", 3, *QUICK)
    first = m.printed("fit", data, *options, "--seed", 1, "--save", "first.json")
    document = json.loads(Path("first.json").read_text(encoding="utf-8"))
    for family in document["families"]:  # another order of the classes
        family["table"].reverse()
    Path("turned.json").write_text(json.dumps(document), encoding="utf-8")
    like = ("--like", "turned.json", "--bootstrap", 6, "--estimate", "ml", "--save", "second.json")
    return {
        "first": first,
        "second": m.printed("fit", data, *options, *like),
        "model": m.read_json("second.json"),
    }


def fit_network_into_every_file():
    model = m.drawn(*m.PAIR, "F G", seed=3)
    lacunet.write_network(model, "net.bif")
    lacunet.simulate(model, 200, seed=4, missing_rate=0.1).write_csv("rows.csv")
    fit = ("fit", "rows.csv", "--network", "net.bif", "--hidden", "F", "--hidden", "G=2", *QUICK)
    saved = {}
    for ending in ("json", "bif", "xmlbif", "xdsl"):
        path = f"fitted.{ending}"
        saved[ending] = {
            "printed": m.printed(*fit, "--statistics", "--save", path),
            "model": plain.model(lacunet.read_network(path)),
            "text": Path(path).read_text(encoding="utf-8").splitlines()[:40],
        }
    return saved


def evidence_of_classes():
    data = m.bundled("myocardial")
    arguments = ("evidence", data, *COUNTS, "--states", 2, "--budget", "1h")
    goals = {"exact": 0.1, "smc": 0.1, "ais": 0.1, "auto": 0.04}
    return {
        method: m.printed(*arguments, "--method", method, "--target", target)
        for method, target in goals.items()
    }


def evidence_of_a_network():
    model = m.drawn(*m.COLLIDER, "H G", seed=1)
    lacunet.write_network(model, "net.json")
    lacunet.simulate(model, 120, seed=2, missing_rate=0.1).write_csv("rows.csv")
    arguments = ("evidence", "rows.csv", "--model", "net.json", "--budget", "1h", "--target", 0.4)
    return {
        "smc": m.printed(*arguments, "--method", "smc", "--alpha", "bdeu:6"),
        "ais": m.printed(*arguments, "--method", "ais", "--hidden", "H=3"),
        "sandwich": m.printed(*arguments, "--sandwich"),
    }


def score_at_and_after():
    data = m.bundled("carcinoma")
    m.command(
        "fit", data, *COUNTS, "--states", 3, "--schedule", "paper", *QUICK, "--save", "m.json"
    )
    arguments = ("score", data, "--model", "m.json", *COUNTS)
    return {
        "at": m.printed(*arguments, "--scores", "all"),
        "after": m.printed(*arguments, "--refit", "--dimension", "rank"),
        "ml": m.printed(*arguments, "--refit", "--estimate", "ml", "--scores", "bic,csl,vb"),
        "without counts": m.printed("score", data, "--model", "m.json"),
    }


def assign_and_impute():
    data = m.bundled("survey")
    m.command("fit", data, "--states", 3, *QUICK, "--save", "m.json")
    return {
        "assigned": m.printed("assign", data, "--model", "m.json", "-o", "a.csv"),
        "a.csv": m.written("a.csv"),
        "imputed": m.printed("assign", data, "--model", "m.json", "--impute", "-o", "b.csv"),
        "b.csv": m.written("b.csv"),
        "text": m.command("assign", data, "--model", "m.json", "-o", "c.tsv").out.splitlines(),
    }


def assign_holes_as_answers():
    data = m.bundled("survey")
    m.command("fit", data, "--states", 2, "--missing-as-state", *QUICK, "--save", "m.json")
    arguments = ("--model", "m.json", "--missing-as-state")
    return {
        "assigned": m.printed("assign", data, *arguments, "-o", "a.csv"),
        "a.csv": m.written("a.csv"),
        "score": m.printed("score", data, *arguments),
    }


def compare_structures():
    for name, shape in (("pair", m.PAIR), ("chain", m.CHAIN)):
        states = {v: k for v, k in shape[1].items() if v.islower()} | dict.fromkeys("FG", 2)
        edges = shape[0].replace("P", "F").replace("Q", "G").replace("R", "G").replace(" G>G", "")
        lacunet.write_network(m.drawn(edges, states, "F G"), f"{name}.json")
    lacunet.write_network(m.drawn("a>b b>c d>e e>f", states | {"F": 2, "G": 2}, "F G"), "own.json")
    lacunet.simulate("pair.json", 300, seed=5, missing_rate=0.05).write_csv("rows.csv")
    options = ("--criteria", "--dimension", "rank", *QUICK, "--save", "out")
    ran = m.printed("compare", "rows.csv", "pair.json", "chain.json", "own.json", *options)
    return ran | {"files": sorted(p.name for p in Path("out").iterdir())}


def compare_structures_with_evidence():
    lacunet.write_network(m.drawn(*m.PAIR, "F G"), "pair.json")
    edges = "F>a F>b F>c F>d F>e F>f G>f"
    lacunet.write_network(m.drawn(edges, m.PAIR[1], "F G"), "one.json")
    lacunet.simulate("pair.json", 60, seed=6).write_csv("rows.csv")
    options = ("--evidence", "--target", 0.5, "--budget", "1h", *QUICK, "--alpha", "k2")
    return m.printed("compare", "rows.csv", "pair.json", "one.json", *options)


def compare_missing_both_ways():
    data = m.bundled("survey")
    options = ("--columns", "home,area,commute,travel time,satisfied", "--both-ways", *QUICK)
    return m.printed("compare-missing", data, "--states", 2, *options, "--scores", "csl,cs,bic")


def learn_graphs():
    data = m.bundled("carcinoma")
    ways = {
        "k2": (),
        "bdeu": ("--alpha", "bdeu:10", "--max-parents", 2),
        "restarts": ("--restarts", 4, "--seed", 7),
        "climb": ("--sweeps", 0, "--restarts", 0, "--alpha", 2),
    }
    found = {
        name: m.printed("learn", data, *COUNTS, *options, "--save", f"{name}.json")
        for name, options in ways.items()
    }
    return found | {"model": m.read_json("bdeu.json")}


def lrt():
    options = ("--replicates", 12, "--starts", 4, "--seed", 2)
    return {
        "one class": m.printed("lrt", m.bundled("values"), *COUNTS, "--states", 1, *options),
        "stopped": m.printed(
            *("lrt", m.bundled("carcinoma"), *COUNTS, "--states", 3, *options, "--stop-after", 2)
        ),
    }


def random_and_simulate():
    options = ("--classes", 3, "--leaves", 5, "--leaf-states", 3, "--alpha", "bdeu:4", "--seed", 8)
    return {
        "random": m.printed("random", *options, "-o", "r.json"),
        "model": m.read_json("r.json"),
        "simulate": m.printed(
            *("simulate", "--model", "r.json", "--rows", 200, "--seed", 3, "--missing-rate", 0.2),
            *("-o", "rows.csv"),
        ),
        "rows": m.written("rows.csv"),
    }


def demo():
    """It names the folder of the bundled data, which is another one everywhere."""
    ran, folder = m.command("demo", "--json"), f"{lacunet.dataset_path('survey').parent}{os.sep}"
    said = [line.replace(folder, "") for line in ran.said]
    document = plain.plain(json.loads(ran.out.replace(json.dumps(folder)[1:-1], "")))
    return {"code": ran.code, "said": said, "json": document}


def refusals():
    """Mistakes that users make: exit code and what they are told."""
    data = m.bundled("carcinoma")
    Path("bad.csv").write_text("a,b\n1,x\n2\n", encoding="utf-8")
    Path("bad.bif").write_text("network n { }\nvariable x {\n", encoding="utf-8")
    mistakes = {
        "no such file": ("select", "nowhere.csv"),
        "states backwards": ("select", data, "--states", "4:2"),
        "no such score": ("select", data, "--scores", "bik"),
        "no such weights": ("select", data, "--weights", "counts"),
        "alpha": ("fit", data, "--states", 2, "--alpha", "0"),
        "both": ("fit", data, "--states", 2, "--network", "x.bif"),
        "ragged": ("fit", "bad.csv", "--states", 2),
        "broken network": ("fit", data, "--network", "bad.bif"),
        "two formats": ("fit", data, "--states", 2, "--json", "--format", "csv"),
        "hidden without network": ("select", data, "--hidden", "H"),
        "budget": ("evidence", data, "--states", 2, "--budget", "soon"),
        "sandwich": ("evidence", data, "--states", 2, "--sandwich"),
        "no holes": ("compare-missing", data, "--states", 2),
        "seed": ("fit", data, "--states", 2, "--seed", "-1"),
    }
    ran = {name: m.command(*arguments) for name, arguments in mistakes.items()}
    return {name: {"code": r.code, "out": r.out, "said": r.said} for name, r in ran.items()}
