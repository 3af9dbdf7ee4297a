"""Pages that moved: a short page at the old address leads to the new one."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

MOVED = {
    "how-to/asking": "how-to/queries",
    "how-to/autoclass": "coming-from/autoclass",
    "how-to/cluster-in-a-pipeline": "how-to/scikit-learn",
    "how-to/pgmpy": "coming-from/pgmpy",
    "how-to/pictures": "how-to/figures",
    "how-to/plots": "how-to/figures",
    "how-to/polca": "coming-from/polca",
    "how-to/predicting": "how-to/impute",
    "how-to/scores": "how-to/evidence",
    "how-to/stepmix": "coming-from/stepmix",
    "how-to/weights": "how-to/surveys",
}
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Moved</title>
<meta http-equiv="refresh" content="0; url={url}">
<link rel="canonical" href="{url}">
</head>
<body><p>This page moved to <a href="{url}">{url}</a>.</p></body>
</html>
"""


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write a page for each old address; a target that does not exist is an error."""
    if failure or app.builder.format != "html":
        return
    for old, new in MOVED.items():
        assert new in app.env.found_docs, f"{old} moved to {new}, which is not there"
        path = Path(app.outdir) / f"{old}.html"
        url = "../" * len(PurePosixPath(old).parents[:-1]) + f"{new}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(url=url), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write them when everything else is there."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
