"""Variables of a JSON model file that are numbers: their family, their unit, and their parameters.

::

    {"name": "age", "hidden": false, "family": "gaussian", "range": [18, 90],
     "unit": {"origin": 47.2, "size": 17.9, "log": false}}

"range" are the lowest and the highest value that the data showed, without decimal points if all
values were whole; binomial scores also have "most", blocks "members", and Gaussians whose
covariance all configurations share "common": true.
Tables, priors and posteriors are nested by parents, then by the places of the family.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.likelihoods import (
    GAUSSIAN,
    POISSON,
    Binomial,
    Common,
    Gaussian,
    GaussianBlock,
    Likelihood,
    Segment,
    with_prior,
)
from lacunet.likelihoods.unit import Unit
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray

FAMILIES: dict[str, Likelihood] = {f.name: f for f in (GAUSSIAN, POISSON)}


def write(v: Variable) -> dict[str, Any]:
    """Describe a variable that is a number."""
    return {
        "name": v.name,
        "hidden": v.hidden,
        **v.family.written,
        "range": [v.states[0], v.states[-1]],
        "unit": asdict(v.unit or Unit()),
    }


def read(entry: dict[str, Any], name: str) -> Variable:
    """Read a variable that is a number."""
    family = _family(entry, name)
    try:
        first, last = entry["range"]
        low, high = float(first), float(last)
        given = entry["unit"]
        unit = Unit(float(given["origin"]), float(given["size"]), bool(given["log"]))
    except (KeyError, TypeError, ValueError):
        raise ModelError(
            f"variable '{name}' is a number. It needs a range of two numbers, and a unit with "
            "origin, size and log."
        ) from None
    finite = np.isfinite([low, high, unit.origin, unit.size]).all()
    if not (finite and unit.size > 0 and low < high):
        raise ModelError(
            f"variable '{name}': its range must go up, and its unit have a size above 0."
        )
    whole = isinstance(first, int) and isinstance(last, int)  # written so if all values are
    ends = (first, last) if whole else (low, high)
    return Variable(name, ends, family=family, unit=unit)


def _family(entry: dict[str, Any], name: str) -> Likelihood:
    family, common = _own_family(entry, name), entry.get("common", False)
    if not isinstance(common, bool):
        raise ModelError(f"variable '{name}': \"common\" is {common!r}. It must be true or false.")
    if not common:
        return family
    if not isinstance(family, Gaussian | GaussianBlock):
        raise ModelError(f"variable '{name}': only Gaussian families have a common covariance.")
    return Common(family)


def _own_family(entry: dict[str, Any], name: str) -> Likelihood:
    said = entry["family"]
    if said == Binomial.name:
        most = entry.get("most")
        if not isinstance(most, int) or most < 1:
            raise ModelError(f"variable '{name}': \"most\" must be a whole number from 1 up.")
        return Binomial(most=most)
    if said == GaussianBlock.name:
        members = entry.get("members")
        if not isinstance(members, list) or name not in members:
            raise ModelError(f"variable '{name}': \"members\" must name the columns of its block.")
        return GaussianBlock(tuple(map(str, members)), members.index(name))
    if not isinstance(said, str) or said not in FAMILIES:
        known = ", ".join((*FAMILIES, Binomial.name, GaussianBlock.name))
        raise ModelError(f"variable '{name}': the family '{said}' is not known. There are {known}.")
    return FAMILIES[said]


def check_parameters(table: FloatArray, family: Likelihood, where: str) -> FloatArray:
    """Refuse numbers that are no parameters of a family, (..., width)."""
    if not table.size:  # its parameters stand elsewhere
        return table
    at = _segment(table, family)
    theta = table.reshape(-1)
    told = np.isfinite(theta).all() and family.allows(theta, at)
    if not told or not np.allclose(family.moved(theta, np.zeros_like(theta), at), theta, rtol=1e-9):
        raise ModelError(f"{where}: its table does not hold parameters of a {family.name} family.")
    return table


def check_prior(table: FloatArray, family: Likelihood, where: str, what: str) -> None:
    """Refuse hyperparameters that no distribution has, (..., width)."""
    if not table.size:
        return
    at, hyper = _segment(table, family), table.reshape(1, -1)
    with np.errstate(all="ignore"):
        proper = (
            np.isfinite(hyper).all()
            and np.isfinite(with_prior(family).log_integral(hyper, at)).all()
        )
    if not proper:
        raise ModelError(f"{where}: its {what} is no prior of a {family.name} family.")


def _segment(table: FloatArray, family: Likelihood) -> Segment:
    width = table.shape[-1]
    return Segment.of_table(family, table.size // width, width)
