"""Graph drawing: positions of the boxes and arrows of a network.

`layout.draw` takes the sizes of boxes from `drawing` and their positions from `layered`. It stacks
the leaves of a parent in columns if they do not fit side by side.
"""

from lacunet.plots.graph_layout.drawing import Arrow, Box, Drawing
from lacunet.plots.graph_layout.layout import Certainty, draw

__all__ = ["Arrow", "Box", "Certainty", "Drawing", "draw"]
