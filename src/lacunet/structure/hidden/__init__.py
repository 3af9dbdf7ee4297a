"""Graphs with hidden variables: their neighbours and numbers of states.

Start with `learn_tree` in `latent_tree.py` (latent trees and forests) and `Growing` in `growing.py`
(one hidden variable more in any graph). `latent_graph.py` fits such graphs; `local_classes.py`
fits latent class models to few columns, which propose changes.
"""
