"""Descriptions of a fit: profiles, residuals, statistics, intervals, tests."""
