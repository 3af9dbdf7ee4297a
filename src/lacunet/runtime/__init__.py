"""How work is done: executors, checkpoints, files, memory, and rows held elsewhere."""
