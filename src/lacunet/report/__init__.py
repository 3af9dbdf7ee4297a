"""Output for readers and programs.

`tables_file` writes tables and folders, and `page` writes HTML reports. `documents` has the JSON
document of a regression. Start at `page.write_report`.
"""
