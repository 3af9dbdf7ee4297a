"""kill −9, and the same result in the end: a few times here, hundreds with `make kills`."""

import pytest

from robust.kills import compare


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("command", ["select", "learn", "evidence"])
def test_a_killed_command_ends_as_if_nothing_had_been(command):
    assert compare(command, kills=1) == 0
