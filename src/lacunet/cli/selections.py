"""What `select` and `compare` do with what they found."""

from __future__ import annotations

from pathlib import Path

from lacunet.cli.console import say, show
from lacunet.report.documents import selection_document
from lacunet.report.folder import save_selection
from lacunet.search.candidates import Selection


def finish(found: Selection, save: Path | None, as_json: bool) -> None:
    """Save, if asked to, and show.

    Saved before shown: whoever closes the pipe early still gets the files.
    """
    if save is not None:
        save_selection(found, save)
    show(found, selection_document(found), as_json)
    if save is not None:
        say(f"written: {save}")
