"""The command line: the only place that prints."""

import io
import sys


def main() -> None:
    """Run the `lacunet` command."""
    from lacunet.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Files and pipes get UTF-8 everywhere; an old terminal gets a mark for what it cannot show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    app()
