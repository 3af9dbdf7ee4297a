"""What predicts classes: coefficients, odds ratios, and how sure they are."""
