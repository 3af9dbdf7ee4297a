"""From files and dataframes to small integer codes, and back.

A table with holes goes in; what comes out is a `Table`: its distinct rows as codes, how often each
occurs, and which states stand behind the codes. Polars and narwhals load on the first read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lacunet.data.table import Column, Table

if TYPE_CHECKING:
    from lacunet.data.datasets import dataset_path, load_dataset
    from lacunet.data.read import read_rows, read_table
    from lacunet.data.write import append_columns, check_table_file, column_names, write_codes

__all__ = [
    "Column",
    "Table",
    "append_columns",
    "check_table_file",
    "column_names",
    "dataset_path",
    "load_dataset",
    "read_rows",
    "read_table",
    "write_codes",
]

_LATER = {
    "append_columns": "lacunet.data.write",
    "check_table_file": "lacunet.data.write",
    "column_names": "lacunet.data.write",
    "dataset_path": "lacunet.data.datasets",
    "load_dataset": "lacunet.data.datasets",
    "read_rows": "lacunet.data.read",
    "read_table": "lacunet.data.read",
    "write_codes": "lacunet.data.write",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
