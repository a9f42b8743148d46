"""Storage size of results: database and Parquet, against the same content as JSON.

The baseline is one JSON object a line for each result, as a record writes itself: raw durations
among its fields, null where something is not known, no white space. Sizes are those of the files,
so one round tells. What the ratio would be without the fields that are null is told too.
"""

import json
from collections.abc import Sequence

import duckdb

from performance.scratch_results import merged, requested_rows

LIMIT = 0.15
SHOWN = 8
JSON_BYTES = """
    SELECT sum(strlen(to_json(record)) + 1)::BIGINT,
        sum(strlen(json_merge_patch('{{}}', to_json(record))) + 1)::BIGINT
    FROM read_parquet('{records}/*.parquet') record
"""
COLUMN_BYTES = """
    SELECT split_part(path_in_schema, ', ', 1) AS name, sum(total_compressed_size)::BIGINT AS bytes
    FROM parquet_metadata('{records}/*.parquet') GROUP BY name ORDER BY bytes DESC
"""


def main() -> None:
    """Measure and print."""
    rows = requested_rows(__doc__)
    with merged(rows) as (database, records):
        parquet = sum(path.stat().st_size for path in records.glob("*.parquet"))
        with duckdb.connect() as connection:
            (as_json,) = connection.execute(JSON_BYTES.format(records=records)).fetchall()
            columns = connection.execute(COLUMN_BYTES.format(records=records)).fetchall()
        report(rows, parquet, database.stat().st_size, as_json, columns)


def report(
    rows: int,
    parquet: int,
    database: int,
    as_json: tuple[int, int],
    columns: Sequence[tuple[str, int]],
) -> None:
    """Print plain lines, then one line of JSON."""
    ratio, without_nulls = ((parquet + database) / size for size in as_json)
    sizes = {"json": as_json[0], "parquet": parquet, "database": database}
    for name, size in sizes.items():
        print(f"{name:<8}  {size / 1e6:,.1f} MB, {size / rows:,.0f} bytes a result")
    print(f"{'ratio':<8}  {ratio:.3f} (at most {LIMIT:g}); {without_nulls:.3f} without nulls")
    heaviest = ", ".join(f"{name} {size / rows:,.0f}" for name, size in columns[:SHOWN])
    print(f"heaviest columns of the Parquet, bytes a result: {heaviest}")
    data = {
        "measurement": "storage_size",
        "ratio": round(ratio, 4),
        "limit": LIMIT,
        "ratio_without_nulls": round(without_nulls, 4),
        "rows": rows,
    }
    print(json.dumps(data | {f"{name}_bytes": size for name, size in sizes.items()}), flush=True)


if __name__ == "__main__":
    main()
