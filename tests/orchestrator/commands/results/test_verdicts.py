"""What a CI makes of verdicts: the exit code, and which grades are good enough."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.regress.judgements import Judgement
from orchestrator.commands.compare.answer import compare_run_pair
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.run_report import require_grade
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.errors import Inconclusive, NothingToDo
from runner.contract.record.files import save_record
from runner.contract.record.verdict import Grade
from tests.support.databases import write_records
from tests.support.records import RECORDED_AT, a_record
from tests.support.verdicts import BASE, RUN, a_judgement, a_refusal, an_answer

WORSE, BETTER = a_judgement("regression"), a_judgement("improvement", -0.2)
SAME, OPEN = a_judgement("no change", 0.0), a_judgement("inconclusive", 0.04)
REFUSED = a_refusal("another CPU limit: 2.0, now 4.0")


@pytest.mark.parametrize(
    ("judgements", "required", "code"),
    [
        ([WORSE, BETTER, SAME, OPEN, REFUSED], None, 7),
        ([WORSE], "A", 7),
        ([REFUSED], None, 3),
        ([REFUSED], "A", 3),
        ([BETTER, SAME], None, 0),
        ([SAME, OPEN], None, 8),
        ([OPEN], None, 8),
        ([SAME, REFUSED], None, 8),
        ([SAME], "B", 0),
        ([SAME], "A", 8),
    ],
)
def test_the_exit_code_follows_from_the_verdicts(
    judgements: Sequence[Judgement], required: Grade | None, code: int
) -> None:
    assert an_answer(*judgements, require_grade=required).exit_code == code


def require(required: Grade | None, **grades: Grade) -> None:
    where: dict[str, Any] = {"run": "last", "database": Path("results/benchmarks.duckdb")}
    require_grade(grades.items(), required, **where)


def test_a_worse_grade_than_the_required_one_is_named_with_a_remedy() -> None:
    require("C", a="A", b="C")
    require(None, a="D")
    with pytest.raises(
        Inconclusive, match=r"--require-grade C: 1 of 2 results is below it: b \(D\)"
    ) as e:
        require("C", a="C", b="D")
    assert e.value.exit_code == 8
    assert "`orchestrator status last --why`" in (e.value.hint or "")


def test_nothing_is_claimed_of_what_must_not_be_quoted_nor_of_grade_d(tmp_path: Path) -> None:
    files = []
    for day, (run, ms) in enumerate(((BASE, 4.0), (RUN, 8.0))):
        known = {"run_id": run, "recorded_at": RECORDED_AT + timedelta(days=day)}
        timed = {**known, "latency_median_s": ms / 1000}
        for batch, changes in ((1, {"correct": False}), (2, {"grade": "D"})):
            folder = tmp_path / f"{day}-{batch}"
            folder.mkdir()
            files.append(save_record(a_record(**timed, batch_size=batch, **changes), folder))
    with Store.open(tmp_path / "benchmarks.duckdb") as store:
        store.merge(files, words=record_words).require_complete()
    selected = SelectionRequest(tmp_path / "benchmarks.duckdb", unquotable=True)
    answer = judge_regressions(RegressionRequest(selected, BASE, RUN))
    assert answer.exit_code == 8
    assert {one.facts["batch_size"]: one.reason for one in answer.judged} == {
        1: "outputs wrong, so nothing is claimed",
        2: f"this result has grade D: `orchestrator status {RUN} --why` tells why",
    }


OFFLINE: dict[str, Any] = {"scenario": "offline", "sequence_length": 64}
PEAK: dict[str, Any] = {"scenario": "server", "slo_ms": 100}
CALIBRATED: dict[str, Any] = {
    "grade": "A",
    "process_spread": 0.002,
    "process_spread_processes": 30,
    "process_spread_degrees": 29.0,
}
QUERY: dict[str, Any] = {"latency_median_s": 0.004}


def found(batch_size: int, seconds: float) -> dict[str, Any]:
    """What offline found: a batch, and the time of a query of it."""
    return {**OFFLINE, "batch_size": batch_size, "latency_median_s": seconds}


def peak(low: float, high: float, seconds: float) -> dict[str, Any]:
    """The bracket of a peak, and the median of the line at it."""
    bracket = {"peak_qps": low, "peak_qps_low": low, "peak_qps_high": high}
    return {**PEAK, **bracket, "latency_median_s": seconds}


def of_two_runs(folder: Path, then: dict[str, Any], now: dict[str, Any]) -> Path:
    """A database of one cell that two runs measured, beside one whose queries take as long."""
    records = [
        a_record(run_id=run, recorded_at=RECORDED_AT + timedelta(days=day), **CALIBRATED, **facts)
        for day, (run, searched) in enumerate(((BASE, then), (RUN, now)))
        for facts in (QUERY, searched)
    ]
    return write_records(folder, records)


def judged(database: Path, *metrics: str) -> list[Any]:
    """The metric, the verdict and its reason."""
    request = RegressionRequest(SelectionRequest(database), BASE, RUN, metrics=metrics)
    answer = judge_regressions(request)
    plain, searched = sorted(
        answer.judgements.judgements, key=lambda one: one.facts["scenario"] != "single_stream"
    )
    assert (plain.metric.name, plain.verdict) == ("latency", "no change")
    return [searched.metric.name, searched.verdict, searched.reason]


@pytest.mark.slow
def test_what_offline_found_is_judged_by_what_does_not_depend_on_it(tmp_path: Path) -> None:
    with Store.open_readonly(of_two_runs(tmp_path, found(32, 0.01), found(64, 0.02))) as store:
        assert judged(store.path)[:2] == ["throughput", "no change"]
        metric, verdict, reason = judged(store.path, "latency")
        assert (metric, verdict) == ("latency", "not comparable")
        assert reason.endswith("found: batch 32, now batch 64")
        selected = SelectionRequest(store.path, filters={"scenario": ("offline",)})
        with pytest.raises(NothingToDo, match="1 of another batch or rate"):
            compare_run_pair(selected, BASE, RUN)
        assert len(compare_run_pair(selected, BASE, RUN, metric="throughput").cells) == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("then", "now", "metrics", "verdict"),
    [
        (found(32, 0.01), found(64, 0.04), (), ["throughput", "regression"]),
        (peak(100, 104, 0.01), peak(101, 106, 0.03), (), ["peak_qps", "inconclusive"]),
        (found(32, 0.01), found(32, 0.01), ("latency",), ["latency", "no change"]),
        (peak(100, 104, 0.01), peak(50, 53, 0.01), ("latency",), ["latency", "not comparable"]),
    ],
)
def test_what_a_search_found_is_judged_by_its_own_metric(
    tmp_path: Path,
    then: dict[str, Any],
    now: dict[str, Any],
    metrics: tuple[str, ...],
    verdict: list[str],
) -> None:
    *judgement, reason = judged(of_two_runs(tmp_path, then, now), *metrics)
    assert judgement == verdict
    assert verdict[1] != "not comparable" or reason.endswith("found: rate 100, now rate 50")


def test_machines_whose_devices_have_one_name_are_told_apart(tmp_path: Path) -> None:
    records = [a_record(run_id=BASE), a_record(run_id=RUN, cpu_cores_logical=2, cpu_smt=False)]
    selected = SelectionRequest(write_records(tmp_path, records))
    answer = judge_regressions(RegressionRequest(selected, BASE, RUN))
    (judgement,) = answer.judgements.judgements
    assert judgement.reason == "another hardware: Example CPU with logical cores 4, now 2"
