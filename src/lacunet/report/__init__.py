"""Results for others: JSON documents, and folders of files."""
