"""Where things go unless somebody says otherwise."""

from pathlib import Path

RESULTS = Path("results")
"""The folder of all runs."""
DATABASE_NAME = "benchmarks.duckdb"
"""The database in that folder."""
