"""Classes first, what goes with them afterwards: three steps, corrected for wrong assignments."""
