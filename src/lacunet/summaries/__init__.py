"""What there is to say of a fit: profiles, residuals, statistics, intervals, tests."""
