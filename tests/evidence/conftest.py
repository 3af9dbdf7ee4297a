"""The path of `two_classes`, as fixtures."""

import pytest

from two_classes import PATH, PROBLEM


@pytest.fixture
def problem():
    return PROBLEM


@pytest.fixture
def path():
    return PATH
