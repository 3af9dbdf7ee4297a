"""How often `learn --hidden auto` finds hidden variables: where there are some, and where not."""
