"""Speed of merging results from Parquet, against DuckDB's own bulk read of the same files.

The baseline is `CREATE TABLE AS SELECT * FROM read_parquet(glob)` into a new database file; the
merge makes a new database too, with its tables, and looks for duplicates and damage. The two take
turns.
"""

import tempfile
from itertools import count
from pathlib import Path

from performance.comparison import compare
from performance.merging import merge, read_in_bulk
from performance.scratch_results import make_results, requested_rows

ROUNDS = 2
LIMIT = 2.0
"""At least half the rows a second."""


def main() -> None:
    """Measure and print."""
    rows = requested_rows(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        records = make_results(Path(folder, "records"), rows)
        new = (Path(folder, f"{number}.duckdb") for number in count())
        compare(
            "store_merge",
            lambda: merge(records, next(new), rows, scratch=True),
            lambda: read_in_bulk(records, next(new)),
            ROUNDS,
            LIMIT,
            thrown_away=0,
        ).report("Store.merge", "read_parquet into a table")


if __name__ == "__main__":
    main()
