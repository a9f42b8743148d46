"""Parquet record files: found, validated, compacted."""
