"""The command line: the only place that prints."""

from __future__ import annotations


def main() -> None:
    """Run the `lacunet` command."""
    from lacunet.cli.app import app

    app()
