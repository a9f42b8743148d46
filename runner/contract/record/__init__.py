"""Records, the output of a job: one per cell, one Parquet row per record."""
