"""The code that takes pages apart belongs to the documentation, which uses it too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "extensions"))
