"""A database of one cell measured by three runs, on hosts that change their name like a CI's."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import a_record

BEGUN = datetime(2026, 11, 1, tzinfo=UTC)
MEDIANS_MS = (4.0, 4.01, 8.0)
"""Of three runs; the last one had another library and another commit."""


def write_repeated(folder: Path) -> Path:
    """Write it, with a cell that two runs measured alike and one that was measured once."""
    newer = {"git_commit": "b" * 40, "libraries": {"torch": "2.14.0"}}
    older = {"git_commit": "a" * 40, "libraries": {"torch": "2.13.0"}}
    records = [
        _measured(day, ms, **(newer if day == 2 else older)) for day, ms in enumerate(MEDIANS_MS)
    ]
    records += [_measured(day, 1.0, batch_size=8, **older) for day in (0, 1)]
    records.append(_measured(0, 2.0, batch_size=2, **older))
    return write_records(folder, records)


def _measured(day: int, ms: float, **changes: Any) -> Record:
    return a_record(
        latency_median_s=ms / 1000,
        grade="A",
        recorded_at=BEGUN + timedelta(days=day),
        run_id=f"202611{day + 1:02}-120000-aaaa",
        hostname=f"runner-{day}",
        **changes,
    )
