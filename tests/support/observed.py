"""Results of a series, as regression verdicts see them: launches and the facts beside them."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from analysis.regress.launches import LaunchedResult, PastResult

BEGUN = datetime(2026, 11, 1, tzinfo=UTC)


def an_observation(launches: Sequence[float], run: int = 0, **facts: Any) -> LaunchedResult:
    """A result of grade B of a run with this number."""
    known = {
        "cell_id": "cell",
        "result_id": f"run-{run}/cell",
        "run_id": f"run-{run}",
        "measured_at": BEGUN + timedelta(days=run),
        "grade": "B",
        "process_spread": None,
        "process_spread_processes": None,
        "process_spread_degrees": None,
        "process_spread_queue": None,
        "interleaved_with": None,
        "side_by_side": None,
        "looks": None,
    }
    return LaunchedResult({**known, **facts}, launches[0], tuple(launches))


def past_results(runs: Sequence[Sequence[float]], first: int = 0) -> list[PastResult]:
    """The history of that series, run by run, each with the values of its launches."""
    return [
        PastResult(
            result_id=f"run-{number}/cell",
            run_id=f"run-{number}",
            measured_at=BEGUN + timedelta(days=number),
            git_commit=f"{number:040}",
            grade="B",
            logarithms=tuple(map(math.log, launches)),
        )
        for number, launches in enumerate(runs, start=first)
    ]
