"""Print the lowest versions that pyproject.toml declares, as pip wants them: for `make lowest`."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
found = project["project"]["dependencies"]
for extra in sys.argv[1:]:
    found += [x for x in project["project"]["optional-dependencies"][extra] if "lacunet[" not in x]
sys.stdout.write("".join(re.sub(r">=([\w.]+)", r"==\1", line) + "\n" for line in found))
