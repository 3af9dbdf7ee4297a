"""A network as a picture: where its boxes and arrows are, on the page and in figures.

`layout.draw` takes the sizes of boxes from `drawing` and their places from `layered`; leaves that
would not fit side by side are gathered under their parent.
"""

from lacunet.charts.network.drawing import Arrow, Box, Drawing
from lacunet.charts.network.layout import Certainty, draw

__all__ = ["Arrow", "Box", "Certainty", "Drawing", "draw"]
