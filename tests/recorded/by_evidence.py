"""The evidence itself, by each method.

Targets are loose enough to be reached at once, and budgets so large that no clock decides.
"""

import material as m
import plain

import lacunet

HOUR = 3600.0


def measured(data: object, *states: int, **how: object) -> dict:
    return plain.measurement(lacunet.log_evidence(data, *states, budget=HOUR, **how))


def classes_by_method():
    table = lacunet.load_dataset("carcinoma")
    goals = {"smc": 0.2, "ais": 0.3, "auto": 0.3}
    found = {
        method: measured(table, 2, method=method, target=goal, threads=1)
        for method, goal in goals.items()
    }
    few = lacunet.load_dataset("myocardial")
    tiny = lacunet.simulate(lacunet.random_model(2, 5, seed=4), 12, seed=5, missing_rate=0.2)
    return found | {
        "exact": measured(few, 2, method="exact"),
        "auto, exact": measured(tiny, 2),
        "auto, annealing": measured(table, 3, target=0.05, threads=1),
        "closed form": measured(table, 1),
        "four classes": measured(table, 4, method="smc", target=0.4, seed=3, threads=2),
    }


def classes_with_holes():
    model = lacunet.random_model(2, 5, leaf_states=3, seed=4)
    rows = lacunet.simulate(model, 120, seed=5, missing_rate=0.2)
    how = {"target": 0.4, "threads": 1}
    return {
        "smc": measured(rows, 3, method="smc", alpha="bdeu:6", **how),
        "ais": measured(rows, 2, method="ais", alpha=1.01, **how),
        "auto": measured(rows, 2, alpha=0.5, **how),
    }


def networks_by_method():
    pair = m.drawn(*m.PAIR, "F G", seed=1)
    rows = lacunet.simulate(pair, 80, seed=2, missing_rate=0.1)
    few = lacunet.simulate(pair, 6, seed=3)
    how = {"network": pair.network, "target": 0.5, "threads": 1}
    return {
        "smc": measured(rows, method="smc", **how),
        "ais": measured(rows, method="ais", seed=1, **how),
        "auto": measured(rows, **how),
        "exact": measured(few, method="exact", network=pair.network),
    }


def chain_and_random_graph():
    chain = m.drawn(*m.CHAIN, "P Q R", seed=1)
    graph = m.random_dag(8, 2, 3)
    return {
        "chain": measured(
            lacunet.simulate(chain, 60, seed=2, missing_rate=0.1),
            network=chain.network,
            method="smc",
            target=0.5,
            threads=1,
        ),
        "graph": measured(
            lacunet.simulate(graph, 40, seed=2, missing_rate=0.1),
            network=graph.network,
            method="ais",
            target=1.0,
            threads=1,
        ),
        "holes only": measured(
            lacunet.simulate(m.random_dag(6, 0, 3), 80, seed=2, missing_rate=0.1),
            network=m.random_dag(6, 0, 3).network,
            target=0.5,
            threads=1,
        ),
    }


def bounds():
    classes = lacunet.random_model(2, 6, seed=1)
    pair = m.drawn(*m.PAIR, "F G", seed=1)
    goal = {"target": 0.5, "budget": HOUR, "threads": 1}
    return {
        "classes": plain.sandwich(
            lacunet.log_evidence_bounds(lacunet.simulate(classes, 100, seed=2), classes, **goal)
        ),
        "holes": plain.sandwich(
            lacunet.log_evidence_bounds(
                lacunet.simulate(classes, 100, seed=3, missing_rate=0.2), classes, seed=1, **goal
            )
        ),
        "network": plain.sandwich(
            lacunet.log_evidence_bounds(lacunet.simulate(pair, 80, seed=2), pair, **goal)
        ),
    }


def selection_with_evidence():
    table = lacunet.load_dataset("carcinoma")
    goal = {"target": 0.5, "budget": HOUR, "starts": 8, "threads": 1}
    return {
        "evidence": plain.selection(lacunet.select(table, [1, 2, 3], evidence=True, **goal)),
        "calibrate": plain.selection(
            lacunet.select(table, [1, 2, 3, 4], calibrate=True, alpha="k2", **goal)
        ),
    }


def comparison_with_evidence():
    pair = m.drawn(*m.PAIR, "F G", seed=1)
    other = m.drawn("F>a F>b F>c F>d F>e F>f G>f", m.PAIR[1], "F G", seed=1)
    rows = lacunet.simulate(pair, 60, seed=6)
    how = {"calibrate": True, "target": 0.5, "budget": HOUR, "starts": 8, "threads": 1}
    return plain.selection(lacunet.compare(rows, {"pair": pair, "other": other}, **how))
