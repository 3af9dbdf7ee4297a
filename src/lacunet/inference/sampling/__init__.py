"""Sampling of hidden values and parameters.

Start with `particles`: Gibbs moves, and particles that are updated case by case. `written_cases`
updates particles by cases with known or tied tables, or with numbers.
"""
