"""What is asked of a model, as JSON documents: rows, queries, explanations, separations."""

from typing import Any

from lacunet.api import Answer, Assigned, Assignment, MostProbable, NumberAnswer, Separations
from lacunet.api.results import Unusual


def assignment_document(assignment: Assignment) -> dict[str, Any]:
    """Describe an assignment; the rows themselves go to the output file."""

    def sizes(v: Assigned) -> dict[str, int]:
        return {name: int((v.best[v.missing] == k).sum()) for k, name in enumerate(v.states)}

    numbers = {v.name: int(v.missing.sum()) for v in assignment.numbers}  # rows filled in
    return {
        "rows": assignment.rows,
        "classes": sizes(assignment.variables[0]) if assignment.variables else {},
        "variables": {v.name: sizes(v) for v in assignment.variables},
        **({"numbers": numbers} if numbers else {}),
        "impossible": assignment.impossible,
        **({} if assignment.unusual is None else unusual_document(assignment.unusual)),
    }


def unusual_document(unusual: Unusual) -> dict[str, Any]:
    """Say how many rows are unusual, and what to know of that."""
    return {"unusual": unusual.rare, **({"note": unusual.note} if unusual.note else {})}


def answer_document(answer: Answer | NumberAnswer) -> dict[str, Any]:
    """Describe the joint distribution of some variables, or what is expected of a number."""
    if isinstance(answer, NumberAnswer):
        return {
            "of": [answer.name],
            **answer.known.document(),
            "log_probability_of_given": answer.log_known,
            **dict(zip(answer.titles, (answer.mean, answer.spread), strict=True)),
        }
    return {
        "of": [v.name for v in answer.variables],
        **answer.known.document(),
        "log_probability_of_given": answer.log_known,
        "states": {v.name: list(v.labels) for v in answer.variables},
        "probabilities": answer.probabilities.tolist(),  # nested, in the order of `of`
    }


def most_probable_document(found: MostProbable) -> dict[str, Any]:
    """Describe the most probable states."""
    return {
        "of": list(found.states),
        **found.known.document(),
        "log_probability_of_given": found.log_known,
        "most_probable": dict(found.states),
        "probability": found.probability,
        "log_probability": found.log_probability,
    }


def separations_document(found: Separations) -> dict[str, Any]:
    """Describe which pairs of variables are d-separated."""
    return {
        "given": list(found.given),
        "do": list(found.do),
        "pairs": [
            {"variables": list(pair), "d_separated": apart} for pair, apart in found.pairs.items()
        ],
    }
