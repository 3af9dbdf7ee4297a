"""Measurement invariance: are the classes the same in several groups?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lacunet.api.engine import at_work
from lacunet.api.inputs import as_table, beside_items, listed, names_in
from lacunet.api.options import FIT, SAMPLE, ReadSettings, SettingsLike, divide, with_options
from lacunet.api.structure import one_number
from lacunet.data.kinds import understand_kinds
from lacunet.data.table import Table
from lacunet.data.transform import missing_as_state, with_groups
from lacunet.errors import DataError, OptionError, did_you_mean
from lacunet.inference.devices.device import DeviceName
from lacunet.inference.leaves import leaves_apart
from lacunet.models.latent_class import Grouped, grouped_classes
from lacunet.models.number_prior import Covariance
from lacunet.runtime.progress import Listener, ignore
from lacunet.runtime.states import understand_bins
from lacunet.selection.comparing import check_states
from lacunet.selection.group_comparison import GroupComparison, compare_levels
from lacunet.settings import DEFAULTS


@with_options(*FIT, "quick", "evidence", *SAMPLE)
def compare_groups(
    data: object,
    states: int,
    group: str,
    *,
    free: Sequence[str] | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> GroupComparison:
    """Fit latent classes in several groups: are the classes the same? (Measurement invariance.)

    Class sizes differ between groups in all three models. Item probabilities are equal in all
    groups, partly equal (some items are free), or free. The models are compared by evidence,
    likelihood-ratio tests, AIC and BIC. Classes have the same numbers in all groups; a class
    without a clear match has a flag.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Number of classes of a latent class model.
    group
        The column of groups. Rows without a group are left out.
    free
        Free items of the partly equal model (default: chosen by the evidence).
    settings, listener, **options
        By name, as alpha, starts, seed, threads, quick, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("carcinoma")
    >>> found = compare_groups(table, 2, "A", free=["C"], starts=4, quick=True)
    >>> [(str(f.level), found.dimension(f.level)) for f in found.levels.fits]
    [('equal', 14), ('partly equal', 16), ('free', 26)]
    """
    settings, reading = divide(settings, options)
    if settings.options.device is not DeviceName.CPU:
        raise OptionError("--device cuda is not for groups. Use --device cpu.")
    if settings.numbers.covariance != Covariance():
        raise OptionError(
            "--covariance is not available with groups, which use diagonal covariances."
        )
    k = one_number(states)
    if k < 2:
        raise OptionError(f"{k} classes: groups may differ in classes, so give 2 or more.")
    table = read_groups(data, group, reading)
    if settings.missing_as_state:
        table = missing_as_state(table)
    check_states([k], table)
    grouped = grouped_classes(leaves_apart(table, settings.numbers), group, k)
    named = None if free is None else _checked_free(free, grouped)
    with at_work(settings, listener, grouped.network) as engine:
        return compare_levels(table, grouped, named, settings, engine.executor)


def read_groups(data: object, group: str, reading: ReadSettings) -> Table:
    """Read the items, and the column of groups as categories."""
    names = names_in(data)
    if group not in names:
        raise DataError(
            f"group '{group}' is not a column of the data.{did_you_mean(group, names)} Their "
            "columns "
            f"are {listed(names)}."
        )
    if isinstance(data, Table):
        return with_groups(as_table(data, reading, numbers=True), group)
    if group in reading.exclude:
        raise OptionError(
            f"'{group}' is the group, and left out by --exclude. Remove one of the two options."
        )
    if group in beside_items(reading):
        raise OptionError(
            f"'{group}' cannot be the group, because it describes the design or the weights of "
            "the rows. "
            "Put a copy of it into the data, under another name."
        )
    columns = reading.columns
    if group in (columns or ()):  # `columns` names items
        raise OptionError(
            f"'{group}' is the group, so it is not an item. Leave it out of --columns, which name "
            "the items alone."
        )
    if columns:
        columns = [*columns, group]
    said = kinds = understand_kinds(reading.kinds)
    if group not in understand_bins(reading.bin).named:
        kinds = kinds.also(understand_kinds({group: "categorical"}))
    table = as_table(data, replace(reading, columns=columns, kinds=kinds), numbers=True)
    if not said.said and not any(
        c.kind.number or c.bins is not None for c in table.columns
    ):  # the audit need not explain that the group is categorical
        table = replace(table, columns=tuple(replace(c, why="") for c in table.columns))
    return with_groups(table, group)


def _checked_free(free: Sequence[str], grouped: Grouped) -> list[str]:
    """Refuse names that are not items, and the set of all items."""
    given = [free] if isinstance(free, str) else list(free)
    items = [grouped.network.variables[i].name for i in grouped.items]
    for name in given:
        if name == grouped.variable.name:
            raise OptionError(f"--free names '{name}', which is the group. Name items.")
        if name not in items:
            raise OptionError(
                f"--free names '{name}', which is not an item.{did_you_mean(name, items)} The "
                "items "
                f"are {listed(items)}."
            )
    if set(given) >= set(items):
        raise OptionError(
            "--free names every item: that is the free model, which is fitted anyway. Name some of "
            "them, or leave --free out, and those that differ are searched for."
        )
    return given
