"""Time and memory of merging 5,000 one-row record files, against reading their bytes and footers.

The records are synthetic ones, with as many values as a real one has, and as if they were ours.

Each merge is a process of its own, into a new database and then once more into the same one; its
memory is the highest that it ever had, which getrusage does not tell: a parent may have had more.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from performance.scratch import write_records
from runner.measure.memory.readers import ResidentReader

FILES = 5_000
MOST_SECONDS, MOST_BYTES = 12.0, 500_000_000
MOST_RATIO = 8.0
"""Of the time that reading each file and its footer takes."""


def main() -> int:
    """Measure and print; the exit code is 1 if a limit was passed."""
    if sys.argv[1:]:
        return _merge(Path(sys.argv[1]), Path(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        records, database = Path(folder, "results"), Path(folder, "new.duckdb")
        records.mkdir()
        print(f"writing {FILES:,} record files", flush=True)
        write_records(records, FILES)
        baseline_s = _read_footers(records)
        first, second = (_measured(records, database) for _ in range(2))
    ratio = first["seconds"] / baseline_s
    print(f"bytes and footers  {baseline_s:6.2f} s")
    for name, merge in (("first merge", first), ("second merge", second)):
        print(f"{name:<17}  {merge['seconds']:6.2f} s  {merge['bytes'] / 1e6:6.0f} MB")
    print(f"ratio              {ratio:6.2f}    (at most {MOST_RATIO:g})")
    data = {"measurement": "merge_files", "ratio": round(ratio, 3), "limit": MOST_RATIO}
    print(json.dumps({**data, "first": first, "second": second}))
    return int(ratio > MOST_RATIO or first["seconds"] > MOST_SECONDS or first["bytes"] > MOST_BYTES)


def _read_footers(records: Path) -> float:
    started = time.perf_counter()
    for path in records.rglob("*.parquet"):
        pq.ParquetFile(pa.BufferReader(path.read_bytes()))
    return time.perf_counter() - started


def _measured(records: Path, database: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "performance.merge_files", str(records), str(database)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _merge(records: Path, database: Path) -> int:
    started = time.perf_counter()
    with Store.open(database) as store:
        report = store.merge([records], words=record_words)
    seconds = time.perf_counter() - started
    if report.inserted + report.unchanged != FILES:
        raise SystemExit(f"merged {report} instead of {FILES} records")
    print(json.dumps({"seconds": round(seconds, 2), "bytes": ResidentReader().peak_bytes()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
