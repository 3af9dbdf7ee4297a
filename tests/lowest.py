"""Print the lowest versions that pyproject.toml declares, as pip wants them: for `make lowest`."""

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path


def lowest(extras: Sequence[str]) -> str:
    """Give a line for each requirement of the package, and of some extras."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    result = list(project["dependencies"])
    for extra in extras:
        result += [x for x in project["optional-dependencies"][extra] if "lacunet[" not in x]
    return "".join(re.sub(r">=([\w.]+)", r"==\1", line) + "\n" for line in result)


if __name__ == "__main__":
    sys.stdout.write(lowest(sys.argv[1:]))
