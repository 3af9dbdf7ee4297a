"""Tables: read files and dataframes into small integer codes, and write them back.

A `Table` (`table`) holds distinct rows as codes, their counts, and the states of each column.
`read.read_table` reads one: `source` opens files, `columns` decides what columns hold, `encode`
codes cells, and `distinct` merges rows. `design` has survey designs, `audit` remarks on the data,
and `write` the output.
"""

from lacunet.data.table import Column, Table

__all__ = ["Column", "Table"]
