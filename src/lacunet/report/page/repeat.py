"""What was run, and how to run it again."""

import importlib.metadata
import platform
from collections.abc import Mapping

from lacunet.data.audit import holes, sizes
from lacunet.data.missing_state import has_missing_state
from lacunet.models.latent_class import is_latent_class
from lacunet.models.prior import Alpha
from lacunet.report.page.words import count, listed
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import How
from lacunet.selection.truth import TRUTH

PACKAGES = ("numpy", "scipy", "numba")
PARAMETERS = {
    "map": "MAP",
    "ml": "maximum likelihood",
    "softmax": "MAP of log θ (softmax), which exists for every prior",
}


def version() -> str:
    """Give the version of Lacunet."""
    return importlib.metadata.version("lacunet")


def facts(selection: Selection) -> list[tuple[str, str]]:
    """Everything that the numbers depend on."""
    options, table = selection.options, selection.table
    seconds = sum(sum(c.seconds.values()) for c in selection.candidates)
    starts = count(options.starts, "random start")
    packages = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return [
        ("Data", f"{table.source}: {sizes(table)}; {holes(table)}"),
        ("Candidates", listed([c.title for c in selection.candidates], 20)),
        ("Parameters", _parameters(selection)),
        ("Prior of the parameters", prior_words(selection.alpha)),
        ("Prior of the candidates", _prior(selection)),
        ("Search", f"{starts}, schedule {options.schedule.value}, seed {options.seed}"),
        ("Computing time", f"{seconds:,.1f} s, over all threads"),
        ("Program", f"Lacunet {version()}"),
        ("With", ", ".join([f"Python {platform.python_version()}", *packages])),
    ]


def _parameters(selection: Selection) -> str:
    """What was estimated; a prior that depends on the number of states may have a MAP or not."""
    estimates = dict.fromkeys(c.fit.estimate for c in selection.candidates)
    return "; ".join(PARAMETERS[estimate.value] for estimate in estimates)


def prior_words(alpha: Alpha) -> str:
    """Say the prior of the parameters."""
    if isinstance(alpha, Mapping):
        return f"tables of Dirichlet exponents for {listed(list(alpha), 12)}"
    return f"Dirichlet, exponents {alpha}"


def _prior(selection: Selection) -> str:
    if selection.named_prior is not None:
        return str(selection.named_prior)
    if selection.prior is None:
        return "all the same"
    return ", ".join(f"{k}: {weight:g}" for k, weight in selection.prior.items())


def _measuring(selection: Selection) -> dict[str, object]:
    """How far the evidence was measured, where that is not the default."""
    alone = {c.label for c in selection.candidates if c.measured}
    quick: dict[str, object] = {"quick": True} if selection.certainty.how is How.QUICK else {}
    if len(alone) == len(selection.candidates):
        return {"evidence": True}
    # Candidates that were measured by themselves though they do not decide.
    return {**quick, "calibrate": True} if alone - selection.certainty.measured else quick


def python_call(selection: Selection) -> str:
    """Write the call that makes this selection, where no command did.

    Data and networks are objects of somebody's program, so they are only named.
    """
    options = selection.options
    network = selection.best.fit.model.network if selection.label is not None else None
    varied = list(selection.candidates[0].proposal.sizes)
    if not varied:
        start = "lacunet.compare(data, networks"
    elif network is not None and is_latent_class(network):
        start = f"lacunet.select(data, {[c.label for c in selection.candidates]}"
    else:
        numbers = sorted({k for c in selection.candidates for k in c.proposal.sizes.values()})
        start = f"lacunet.select(data, {numbers}, network=network, hidden={varied}"
    scores = [s.name for s in selection.scores if s is not TRUTH]
    arguments: dict[str, object] = {"scores": scores}
    arguments |= _measuring(selection)
    arguments |= {
        "estimate": options.estimate.value,
        "alpha": selection.alpha,
        "starts": options.starts,
        "schedule": options.schedule.value,
        "seed": options.seed,
    }
    if any(c.dimension != c.fit.model.network.dimension for c in selection.candidates):
        arguments["dimension"] = "rank"
    if selection.ratio_tests:
        arguments["blrt"] = max(test.asked for test in selection.ratio_tests.values())
    if selection.named_prior is not None:
        arguments["prior"] = str(selection.named_prior)
    elif selection.prior is not None:
        arguments["prior"] = dict(selection.prior)
    if any(has_missing_state(column) for column in selection.table.columns):
        arguments["missing_as_state"] = True
    lines = [f"    {name}={value!r}," for name, value in arguments.items()]
    return "\n".join([f"{start},", *lines, ")"])
