"""Content and style of charts, shared by the HTML report and the figures of `lacunet.plots`.

`style` has colours, markers, ticks and the curves of a selection; `network` draws graphs.
"""
