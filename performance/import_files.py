"""Rate at which foreign files are imported, against json and csv merely reading them; their size.

`ACCELMATRIX_TEST_DATA` names the folder of the files, by default the samples in `tests/data`, which
are too few for a rate that means much. Each import makes a new database and new Parquet files; the
second one finds everything there already. Last, what `database compact` makes of the records is
compared with the files themselves.
"""

import csv
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.importing import import_files
from orchestrator.exchange.imports.outcome import read_files
from orchestrator.exchange.imports.packed import pack
from performance.comparison import compare, seconds

PATTERNS = {"legacy-results": "*.json", "timm": "*.csv"}
DATA = Path(os.environ.get("ACCELMATRIX_TEST_DATA") or Path(__file__).parents[1] / "tests/data")
ROUNDS = 3
SIZE_LIMIT = "at most 1 for the 142 legacy files; a few files weigh less than the columns' names"


def main() -> None:
    """Measure and print; without the files there is nothing to measure."""
    for shape, pattern in PATTERNS.items():
        files = sorted((DATA / shape).rglob(pattern))
        if files:
            measure(shape, files)
        else:
            print(f"{shape}: not measured, since {DATA} does not hold its files")


def measure(shape: str, files: Sequence[Path]) -> None:
    """Import these files a few times, each time into a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        new = (Path(folder, str(number)) for number in count())
        comparison = compare(
            f"import_files {shape}",
            lambda: import_all(files, next(new)),
            lambda: read_all(files),
            ROUNDS,
        )
        again_s = seconds(lambda: import_all(files, Path(folder, "0")))
        single, packed = sizes(Path(folder, "0"))
    comparison.report("import", "json.load or csv.reader")
    import_s = statistics.median(comparison.ours)
    print(f"{len(files)} files: {len(files) / import_s:.3g} a second are imported,")
    print(f"{len(files) / again_s:.3g} a second where all are there already")
    theirs = sum(file.stat().st_size for file in files)
    ratio = packed / theirs
    print(f"they are {theirs:,} bytes, their records {single:,}, compacted {packed:,}:", end=" ")
    print(f"{ratio:.2f} of the files ({SIZE_LIMIT})", flush=True)


def import_all(files: Sequence[Path], results: Path) -> None:
    """Import the files as `orchestrator import` does."""
    outcomes = read_files(files, FORMATS)
    import_files(outcomes, results, results / "benchmarks.duckdb", "performance.import_files")


def sizes(results: Path) -> tuple[int, int]:
    """The bytes of the records of imports, before they are compacted and afterwards."""
    single = _record_bytes(results)
    pack(results)
    return single, _record_bytes(results)


def _record_bytes(results: Path) -> int:
    return sum(path.stat().st_size for path in results.rglob("*.parquet"))


def read_all(files: Sequence[Path]) -> None:
    """Read the files with json and csv; broken JSON counts as read."""
    for file in files:
        with file.open(encoding="utf-8", newline="") as text:
            if file.suffix == ".csv":
                list(csv.reader(text))
                continue
            try:
                json.load(text)
            except ValueError:
                continue


if __name__ == "__main__":
    main()
