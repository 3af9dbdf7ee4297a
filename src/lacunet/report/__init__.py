"""Output for readers: `tables_file` writes tables and folders, and `page` writes HTML reports.

Start at `page.write_report`. JSON documents are `to_dict` of each result.
"""
