"""The search for the graph over the columns of a table."""
