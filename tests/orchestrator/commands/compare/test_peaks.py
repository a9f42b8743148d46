"""Shares of a machine's peak: of two databases, each with a peak of its own, rates are compared."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.commands.compare.answer import RunPairRequest, compare_run_pair
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.selection import SelectionRequest
from tests.support.databases import write_records
from tests.support.records import RECORDED_AT, a_record
from tests.support.verdicts import BASE, RUN

COUNTED = {"flops_per_iteration": 300_000_000, "bytes_per_iteration": 6_000_000, "grade": "A"}
THEN = a_record(
    run_id=BASE,
    latency_median_s=0.003,
    peak_flops_per_s=2e11,
    peak_bytes_per_s=1e10,
    **COUNTED,
)
NOW = a_record(
    run_id=RUN,
    recorded_at=RECORDED_AT + timedelta(days=1),
    latency_median_s=0.006,
    peak_flops_per_s=1e11,
    peak_bytes_per_s=5e9,
    **COUNTED,
)
"""It takes twice as long, on a machine that was too busy to show its peak: half of it, as then."""


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("metric", "judged", "apart"),
    [
        ("efficiency", "efficiency", False),
        pytest.param("mbu", "gb_per_s", True, marks=pytest.mark.slow),
    ],
)
def test_shares_of_two_databases_peaks_are_compared_by_the_rates_behind_them(
    tmp_path: Path, metric: str, judged: str, apart: bool
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    there = str(write_records(tmp_path / "there", [THEN]))
    selected = SelectionRequest(write_records(tmp_path / "here", [NOW] if apart else [THEN, NOW]))
    baseline = there if apart else BASE
    pair = compare_run_pair(RunPairRequest(selected, baseline, RUN, metric))
    (cell,) = pair.cells
    assert pair.metric.name == judged
    assert cell.after.speedup == pytest.approx(0.5)
    answer = judge_regressions(RegressionRequest(selected, baseline, RUN, (metric,)))
    (judgement,) = answer.judgements.judgements
    assert judgement.metric.name == judged
