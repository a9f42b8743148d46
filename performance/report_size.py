"""Time and size of each report from a large database, made by the command in a fresh process."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from analysis.report.report import MOST_ROWS
from analysis.report.topics import REPORT_TOPICS
from orchestrator.system.text import format_size
from performance.comparison import seconds
from performance.scratch_results import merged, requested_rows

LIMIT_S = 10.0
LIMIT_BYTES = 5_000_000
"""Of a page with as many results as a report shows."""


def main() -> None:
    """Measure and print."""
    rows = requested_rows(__doc__)
    with merged(rows) as (database, _), tempfile.TemporaryDirectory() as folder:
        reports = {topic: measure(database, topic, Path(folder)) for topic in REPORT_TOPICS}
    print(f"{MOST_ROWS:,} results at most a page, from {rows:,}")
    for topic, (taken_s, size) in reports.items():
        slow = "  too slow" if taken_s > LIMIT_S else ""
        large = "  too large" if size > LIMIT_BYTES else ""
        print(f"{topic:<14} {taken_s:6.2f} s  {format_size(size):>9}{slow}{large}")
    data = {topic: {"s": taken_s, "bytes": size} for topic, (taken_s, size) in reports.items()}
    print(json.dumps({"measurement": "report_size", "rows": rows, "reports": data}), flush=True)


def measure(database: Path, topic: str, folder: Path) -> tuple[float, int]:
    """Seconds that the command takes, its start included, and bytes of its page."""
    page = folder / f"{topic}.html"
    command = [sys.executable, "-m", "orchestrator", "report", topic, "--output", str(page)]
    words = [*command, "--database", str(database)]
    taken_s = seconds(lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL))
    return taken_s, page.stat().st_size


if __name__ == "__main__":
    main()
