"""Lacunet: given data with holes, which Bayesian network, how many hidden states, how sure are we?

>>> import lacunet
>>> table = lacunet.load_dataset("carcinoma")
>>> print(lacunet.select(table, range(1, 5)).states)
3
"""

import ast
from importlib import import_module

__version__ = "0.1.0"


def _read_homes() -> dict[str, str]:
    """Give the module of each public name, as the stub says: type checkers read the same list."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi")  # also from a zip file
    imports = (node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom))
    return dict(sorted((name.name, node.module) for node in imports for name in node.names))


_HOME = _read_homes()
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name on its first use, so that `import lacunet` stays fast."""
    if name not in _HOME:
        raise AttributeError(f"module 'lacunet' has no attribute {name!r}")
    if _HOME[name] == __name__:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
