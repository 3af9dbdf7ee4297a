"""`lacunet warm-up`: compile kernels ahead of the first work."""

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli.console import command, progress


@command
def warm_up(
    work: Annotated[
        list[str] | None,
        typer.Argument(help="fit, select, learn, impute, classify (default: all).", metavar="WORK"),
    ] = None,
) -> None:
    """Compile the kernels that common work needs, and keep them on disk, for a container."""
    with progress() as listener:
        api.warm_up(work or (), listener=listener)
