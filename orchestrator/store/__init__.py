"""The store: the DuckDB file, and the Parquet files behind it."""
