"""Hypothesis, for all tests: seeded, no deadline (the first example compiles kernels)."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # the oracle and the problems are not a package

from examples import EXAMPLES

# Commands that tests start keep their bytecode, as a user's do: some hundred of them are started.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

for name, number in EXAMPLES.items():
    settings.register_profile(
        name,
        deadline=None,
        derandomize=True,
        max_examples=number,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("lacunet")


@pytest.fixture
def short_steps_on_threads(monkeypatch):
    """Let threads share work that is not worth it too: for tests that they change no number."""
    monkeypatch.setattr("lacunet.runtime.executor.SHORT", 0.0)


# These are loaded as plug-ins; collecting them for doctests would import them a second time.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]
