"""Classes in several groups: are they the same classes? Fitted equal, partly equal and free."""
