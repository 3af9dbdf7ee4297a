"""Hypothesis, for all tests: seeded, no deadline (the first example compiles kernels)."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # the oracle and the problems are not a package

from examples import EXAMPLES

for name, number in EXAMPLES.items():
    settings.register_profile(
        name,
        deadline=None,
        derandomize=True,
        max_examples=number,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("lacunet")

# These are loaded as plug-ins; collecting them for doctests would import them a second time.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]
