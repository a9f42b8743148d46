"""Records of results with several launches, for tests of verdicts and levels."""

from collections.abc import Sequence
from typing import Any

from runner.contract.record.record import Record
from tests.support.records import a_record

_QUERIES = 3
"""Timed queries of each launch, all of them as long as its median."""


def launched(medians_ms: Sequence[float], **changes: Any) -> Record:
    """A record of grade A whose launches have these medians."""
    durations = [round(median * 1e6) for median in medians_ms for _ in range(_QUERIES)]
    known = {
        "durations_ns": durations,
        "rounds": len(medians_ms),
        "round_iterations": [_QUERIES] * len(medians_ms),
        "round_medians": [median / 1e3 for median in medians_ms],
        "grade": "A",
    }
    return a_record(**known | changes)
