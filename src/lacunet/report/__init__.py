"""Output for readers and programs.

`documents` and `fit_documents` write results as JSON documents, `tables_file` writes tables and
folders, and `page` writes HTML reports. Start at `documents.described` and `page.write_report`.
"""
