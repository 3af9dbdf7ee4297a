"""Graphs with variables that no column shows: found, placed, and given their numbers of states."""
