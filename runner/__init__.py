"""The program inside a container: one job in, one Parquet record per cell out."""

__version__ = "0.1.0"
