"""Nothing in this folder is a test: `compare.py` is run by hand, before and after a change."""

collect_ignore_glob = ["*.py"]
