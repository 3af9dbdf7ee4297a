"""From files and dataframes to small integer codes, and back.

A `Table` has distinct rows as codes, how often each occurs, and which states stand behind the
codes. Polars and narwhals load with `read` and `write`.
"""

from lacunet.data.table import Column, Table

__all__ = ["Column", "Table"]
