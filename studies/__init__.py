"""Studies beside the package: what CH96 left open, each with its own command.

`python -m studies truth --out FOLDER` and so on; see `python -m studies --help`.
"""
