"""What a record of one process says of the spread of others, and how well that is known."""

from datetime import UTC, datetime

import pytest

from analysis.results.process_spread import calibrated_processes, spread_degrees, spread_in_words
from runner.contract.job import ProcessSpread
from runner.measure.statistics.replication import DEFAULT_SPREAD, spread_of

DAY = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.mark.parametrize(
    ("source", "processes", "degrees"),
    [
        (DEFAULT_SPREAD.source, None, 10**6),
        (None, None, 10**6),
        ("calibration with 10 processes, 2026-11-01", 10, 9),
        ("calibration with 2 processes (0.6 degrees of freedom), 2026-11-27", 2, 1),
    ],
)
def test_the_source_of_a_spread_tells_its_degrees(
    source: str | None, processes: int | None, degrees: float
) -> None:
    assert (calibrated_processes(source), spread_degrees(source)) == (processes, degrees)


def test_what_a_runner_writes_is_read() -> None:
    spread = ProcessSpread(cv=0.02, processes=8, degrees=4.87, measured_at=DAY)
    source = spread_of(spread).source
    assert (calibrated_processes(source), spread_degrees(source)) == (8, 4.87)
    queued = spread_of(spread).multiplied(3.0).source
    assert (calibrated_processes(queued), spread_degrees(queued)) == (8, 4.87)
    assert spread_in_words(0.06, queued) == "6 % in this queue"
    assert spread_in_words(0.02, source) == "2 %"
