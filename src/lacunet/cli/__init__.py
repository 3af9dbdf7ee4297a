"""The command line: the only place that prints."""

import io
import os
import sys

SWITCHES = ("--debug", "--safe-csv")  # of the program itself


def main() -> None:
    """Run the `lacunet` command; whatever happens, it ends with a sentence and an exit code."""
    try:
        _run()
    except KeyboardInterrupt:  # while packages were loaded: there is nothing to clean up
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        os._exit(130)


def _run() -> None:
    from lacunet.cli.app import app
    from lacunet.cli.defects import end_as_interrupted

    end_as_interrupted()
    for stream in (sys.stdout, sys.stderr):
        # Files and pipes get UTF-8 everywhere; an old terminal gets a mark for what it cannot show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    switches = [word for word in sys.argv[1:] if word in SWITCHES]  # wherever they stand
    sys.argv[1:] = [*switches, *(word for word in sys.argv[1:] if word not in SWITCHES)]
    app()
