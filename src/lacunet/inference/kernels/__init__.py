"""The loops that take the time, compiled; each has an obvious twin in the tests."""
