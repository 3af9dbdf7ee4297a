"""Execution: parallel tasks, checkpoints, files, memory, and partitioned rows.

`executor` defines the interface, and threads; `processes` and `cluster` are other backends, and
`connecting` finds a Dask cluster. `checkpoint` resumes interrupted work, `files` writes atomically,
`rows` keeps rows on disk or on workers, and `jit` compiles kernels.
"""
