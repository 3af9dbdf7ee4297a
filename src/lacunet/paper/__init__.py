"""CH96 repeated: its experiments, its figures and tables, and its published numbers beside ours."""
