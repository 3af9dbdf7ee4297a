"""DOT, the language of Graphviz: a picture of a network, to be drawn by other programs.

It is written only: tables stand in tips, for whoever points at a box, and cannot be read back.
"""

from lacunet.models.display import table_lines
from lacunet.models.network import Model

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})  # all else stands for itself


def write(model: Model) -> str:
    """Give the text of a DOT file; hidden variables have dashed borders."""
    variables, parents = model.network.variables, model.network.parents
    names = [_quote(v.name) for v in variables]
    lines = ["digraph lacunet {", '  node [shape=box, style="rounded"];']
    for i, v in enumerate(variables):
        tip = _quote("\n".join("  ".join(cells) for cells in table_lines(model, i)))
        dashed = 'style="rounded,dashed", ' if v.hidden else ""
        lines.append(f"  {names[i]} [{dashed}tooltip={tip}];")
    lines += [f"  {names[p]} -> {names[i]};" for i, pa in enumerate(parents) for p in pa]
    return "\n".join([*lines, "}", ""])


def _quote(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'
