"""`lacunet compare-missing`: missing at random, or missing as an answer?"""

from typing import Annotated

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import check_one_model, read_structure, settle
from lacunet.report.descriptions import missing_document


@command
@o.options_after(
    api.compare_missing, hidden=("scores",), both_ways=(*o.LEARNING, *o.READING, *o.PRINTING)
)
def compare_missing(
    asked: o.Asked,
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    both_ways: Annotated[
        bool,
        o.switch("--both-ways", "Also ask of each column when the holes of all others may depend."),
    ] = False,
) -> None:
    """Do holes go with the classes? Bayes factor of missing as an answer, by column and overall.

    Both readings are models of the values and of which cells are missing, so that their evidence
    can be compared: a cell is missing with one probability (at random), or with one for each class
    (as an answer, which is what --missing-as-state takes it for).
    """
    check_one_model(states, network)
    table, given = read_structure(data, network, parse_hidden(hidden), asked, states)
    classes, structure = settle(given, states)
    settings = asked.settings
    with asked.work() as how:
        found = api.compare_missing(table, classes, network=structure, both_ways=both_ways, **how)
    document = {**missing_document(found), "seed": settings.seed, "alpha": settings.alpha}
    show(found, document, asked.form)
