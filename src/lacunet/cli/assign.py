"""`lacunet assign`: which class is each row in?"""

from typing import Annotated, Any

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say_written, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import remind, say_not_shown
from lacunet.data.write import append_columns, column_names
from lacunet.report.answer_documents import assignment_document


@command
@o.options_after(api.assign, draw=("seed", "missing", "missing_as_state", "plug_in", "json"))
def assign(
    asked: o.Asked,
    data: o.Data,
    model: o.ModelFile,
    output: o.TableFile,
    hidden: o.AlsoHidden = None,
    impute: Annotated[bool, o.switch("--impute", "Fill in missing cells too.")] = False,
    draw: Annotated[
        bool, o.switch("--draw", "Fill in draws, not what is most probable or expected.")
    ] = False,
    anomalies: Annotated[
        bool, o.switch("--anomalies", "Say how unusual each row is among rows with its holes.")
    ] = False,
) -> None:
    """Give each row its class: the most probable state of what is hidden, and all probabilities.

    All columns and the order of the rows are kept; the new columns come last. With --impute, also
    the most probable value, and the probabilities, of every column that has missing cells, or that
    the table lacks: such a column is not observed. Numbers get their mean, rounded to the
    decimals of the column and within its range, and its standard deviation. With --draw, a draw
    from what is possible is filled in instead: another --seed gives another one. With --anomalies,
    log p(row) and the probability that a row with the same holes is at most as probable: below
    0.01 is unusual. A fitted model is asked of the posterior of its parameters. A stack (`lacunet
    stack --save`) fills in holes too.
    """
    given = api.asked_speaker(model, asked.settings, parse_hidden(hidden))
    remind(given.network, asked.settings)
    say_not_shown(data, given)
    markers = asked.reading["missing"]
    how: dict[str, Any] = {"settings": asked.settings, "missing": markers}
    found = api.assign(data, given, impute=impute, draw=draw, anomalies=anomalies, **how)
    append_columns(data, api.fresh_names(found.tidy(), column_names(data)), output)
    show(found, {**assignment_document(found), "output": str(output)}, asked.form)
    say_written(output)
