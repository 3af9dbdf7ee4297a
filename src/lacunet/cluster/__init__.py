"""Workers of a Dask cluster, on this machine or on others; the door to Dask."""
