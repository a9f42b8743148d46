"""Results, runs and series as the orchestrator shows them."""

import re
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.query.results import CellSpeed, Measurement
from orchestrator.store.query.runs import RunSummary, newest_first, resolve_run
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import UsageError
from runner.contract.record.files import to_table
from tests.orchestrator.store.conftest import Save
from tests.support.records import EXAMPLE_HOST, NOISY, RECORDED_AT, a_failure, a_record

TIMED = ("steady_time_s", "latency_median_s", "throughput", "iterations")
CELL = "cpu-bert-tiny-fp32-b1-s128-inference"


def test_verdicts_are_the_statuses_of_one_run(store: Store, results: Path, save: Save) -> None:
    save(
        a_record(run_id="1", batch_size=1),
        a_failure("timeout", "hung", run_id="1", batch_size=8),
        a_record(run_id="2", batch_size=64),
    )
    store.merge([results], words=record_words)
    assert store.verdicts("1") == {CELL: "ok", "cpu-bert-tiny-fp32-b8-s128-inference": "timeout"}
    assert store.verdicts("unheard of") == {}


def test_runs_are_counted_newest_first(store: Store, results: Path, save: Save) -> None:
    save(a_record(run_id="1"), a_failure("lost", "gone", run_id="1", batch_size=2))
    planned = Run(
        run_id="2",
        started_at=RECORDED_AT + timedelta(hours=1),
        planned=16,
        orchestrator_version="0.1.0",
    )
    store.merge([results], words=record_words)
    store.merge([], planned)
    newest, oldest = store.runs()
    assert (newest.run_id, newest.planned, newest.counts) == ("2", 16, {})
    assert (newest.started_at, newest.finished_at) == (planned.started_at, None)
    assert (oldest.run_id, oldest.planned) == ("1", None)
    assert oldest.counts == {"lost": 1, "ok": 1}
    assert oldest.finished_at == RECORDED_AT


def test_a_run_tells_who_measured_and_the_newest_is_ours(
    store: Store, results: Path, save: Save
) -> None:
    save(a_record(run_id="1"), a_record(run_id="2"))
    later = a_record(run_id="3", recorded_at=RECORDED_AT + timedelta(hours=1), proof="none")
    imported = to_table([later]).append_column("source", [["timm"]])
    pq.write_table(imported.replace_schema_metadata(None), results / "imported.parquet")
    assert newest_first(store.runs()) == []
    store.merge([results], words=record_words)
    runs = store.runs()
    assert [(run.run_id, run.source) for run in runs] == [
        *(("3", "timm"), ("2", "accelmatrix"), ("1", "accelmatrix"))
    ]
    assert newest_first(runs) == ["2", "1", "3"]


def test_a_clock_that_was_set_back_changes_nothing_of_which_run_is_the_last(
    store: Store, results: Path, save: Save
) -> None:
    first, last = "20261121-130000-0000", "20261121-130001-0000"
    hour = timedelta(hours=1)
    save(a_record(run_id=first, recorded_at=RECORDED_AT + hour), a_record(run_id=last))
    store.merge([results], words=record_words)
    runs = store.runs()
    assert [run.run_id for run in runs] == [first, last]
    assert newest_first(runs) == [last, first]


def test_history_is_the_median_speed_of_this_hosts_successes(
    store: Store, results: Path, save: Save
) -> None:
    loaded = {"import_time_s": 0.25, "load_time_s": 0.25, "noise_other_load": 0.5}
    for number, seconds in enumerate((1.0, 2.0, 30.0)):
        save(a_record(run_id=str(number), steady_time_s=seconds, **loaded))
    save(
        a_record(run_id="away", cpu_model="Other CPU", steady_time_s=1000.0),
        a_failure("timeout", "hung", run_id="hung", steady_time_s=1000.0),
        a_failure("timeout", "hung", batch_size=8),
        a_record(batch_size=2, purpose="verify", **dict.fromkeys(TIMED)),
    )
    store.merge([results], words=record_words)
    # Others took half of the time.
    speed = CellSpeed(iteration_s=0.5 * 2.0 / a_record().iterations, load_s=0.5)
    assert store.history(EXAMPLE_HOST) == {CELL: speed}
    assert store.history("another machine") == {}


def test_a_result_comes_with_what_it_takes_to_measure_it_again(
    store: Store, results: Path, save: Save
) -> None:
    name = f"20261121-120000-abcd/{CELL}"
    save(a_record(image="accelmatrix-cpu:1", image_digest="sha256:0", git_commit="abc"))
    store.merge([results], words=record_words)
    found = store.measurement(name)
    assert store.measurement(f"{name}x") is None
    assert store.nearest(f"{name}x") == name
    assert isinstance(found, Measurement)
    assert (found.result_id, found.launcher, found.hostname) == (name, "process", "example-host")
    assert (found.image, found.image_digest) == ("accelmatrix-cpu:1", "sha256:0")
    assert (found.git_commit, found.runner_version, found.phase) == ("abc", "0.1.0", None)
    assert found.job == '{"id": "as it was given"}'


def test_the_nearest_result_is_the_one_that_was_mistyped(
    store: Store, results: Path, save: Save
) -> None:
    save(a_record(batch_size=1), a_record(batch_size=64), a_record(model="gpt2"))
    assert store.nearest("anything") is None
    store.merge([results], words=record_words)
    assert store.nearest("20261121-120000-abcd/cpu-bert-tiny-fp32-b64-s128-inferense") == (
        "20261121-120000-abcd/cpu-bert-tiny-fp32-b64-s128-inference"
    )


def test_results_are_rows_for_a_table(store: Store, results: Path, save: Save) -> None:
    save(
        a_record(proof="partial", throughput=250.0, grade="B", doubts=[NOISY]),
        a_failure("unavailable", "no GPU here", batch_size=2),
    )
    store.merge([results], words=record_words)
    measured, failed = store.results("20261121-120000-abcd")
    assert store.results("unheard of") == []
    shown = {
        "cell_id": CELL,
        "batch_size": 1,
        "scenario": "single_stream",
        "status": "ok",
        "predicted": False,
        "proof": "partial",
        "correct": True,
        "grade": "B",
        "doubts": [asdict(NOISY)],
        "throughput": 250.0,
        "latency_median_ms": 3.0,
        "latency_median_low_ms": pytest.approx(2.97),
        "latency_median_high_ms": pytest.approx(3.03),
        "latency_precision": 0.01,
        "load_time_s": 0.25,
        "memory_mb": 300.0,
        "latency_p90_ms": None,
        "peak_qps": None,
        "peak_qps_high": None,
        "forward_median_ms": None,
    }
    assert {name: measured.data()[name] for name in shown} == shown
    assert (failed.status, failed.reason, failed.number("throughput")) == (
        "unavailable",
        "no GPU here",
        None,
    )


DATABASE = Path("a.duckdb")
OURS = RunSummary("run-2", RECORDED_AT, None, 3, {})
OLDER = RunSummary("run-1", RECORDED_AT, None, 3, {})
IMPORTED = RunSummary("import-1", RECORDED_AT, None, 3, {}, source="timm")


def test_a_run_is_named_by_its_id_whoever_measured_it() -> None:
    runs = [IMPORTED, OURS, OLDER]
    assert [resolve_run(run.run_id, runs, DATABASE) for run in runs] == [
        "import-1",
        "run-2",
        "run-1",
    ]


def test_the_last_run_is_the_newest_of_ours() -> None:
    assert resolve_run("last", [IMPORTED, OURS, OLDER], DATABASE) == "run-2"
    assert resolve_run("last", [IMPORTED], DATABASE) == "import-1"


@pytest.mark.parametrize(
    ("name", "able", "run"),
    [
        ("last~0", None, "run-2"),
        ("last~1", None, "run-1"),
        ("last~2", None, "import-1"),
        ("last", {"run-1", "import-1"}, "run-1"),
        ("last~1", {"run-1", "import-1"}, "import-1"),
        ("last", set[str](), "run-2"),
    ],
)
def test_runs_are_counted_back_among_those_that_can_answer(
    name: str, able: set[str] | None, run: str
) -> None:
    assert resolve_run(name, [IMPORTED, OURS, OLDER], DATABASE, able) == run


@pytest.mark.parametrize(
    ("name", "able", "message", "hint"),
    [
        ("last~3", None, "last~3: the database holds 3 runs", "the oldest of them is `last~2`"),
        ("last~1", {"run-1"}, "last~1: the database holds 1 run", "`last` is the only one"),
    ],
)
def test_a_run_beyond_the_oldest_is_refused(
    name: str, able: set[str] | None, message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        resolve_run(name, [IMPORTED, OURS, OLDER], DATABASE, able)
    assert refused.value.hint == hint


@pytest.mark.parametrize(
    ("name", "runs", "guess", "hint"),
    [
        ("lst", [OURS, OLDER], "; did you mean last?", "the newest are run-2, run-1"),
        ("run-11", [OLDER], "; did you mean run-1?", "the newest is run-1"),
        ("run-3", [], "", "it holds none yet"),
        ("last", [], "", "it holds none yet"),
    ],
)
def test_another_run_is_refused(name: str, runs: list[RunSummary], guess: str, hint: str) -> None:
    with pytest.raises(
        UsageError, match=f"'{name}' is not a run in a.duckdb{re.escape(guess)}$"
    ) as caught:
        resolve_run(name, runs, DATABASE)
    assert caught.value.hint == hint


SERIES_CELL = "cpu-bert-tiny-fp32-b1-s128-inference"


def after(hours: int) -> dict[str, Any]:
    return {"run_id": str(hours), "recorded_at": RECORDED_AT + timedelta(hours=hours)}


SERIES: tuple[tuple[list[dict[str, Any]], str | None], ...] = (
    ([{}], "0"),
    ([{}, {}], "1"),
    ([{}, {"grade": "D"}], "0"),
    ([{}, {"correct": False, "correct_reason": "they differ"}], "0"),
    ([{}, {"launcher": "docker"}], "0"),
    ([{"seed": 8}], "0"),
    ([{"weights_seed": 8}], None),
    ([{"batch_size": 8}], None),
    ([{"cpu_model": "another"}], None),
    ([{"hostname": "renamed"}], "0"),
)
"""Earlier results than that of run 9, and the run of the one that can be quoted; each series is of
a sequence length of its own."""


def test_the_last_result_of_each_series_that_can_be_quoted(
    store: Store, results: Path, save: Save
) -> None:
    expected = set()
    for length, (before, last) in enumerate(SERIES, start=1):
        facts = {"grade": "B", "launcher": "process", "sequence_length": length}
        now = a_record(**facts, **after(9))
        save(*(a_record(**facts | after(n) | changes) for n, changes in enumerate(before)), now)
        save(a_record(**facts | after(10)))
        if last:
            expected.add((last, now.cell_id))
    store.merge([results])
    earlier = store.neighbours("9")
    assert store.neighbours("unheard of") == []
    assert {(result.run_id, result.cell_id) for result in earlier} == expected
    assert len(earlier) == len(expected)
    assert all(result.same_software and result.latency_median_ms == 3.0 for result in earlier)


def test_other_libraries_are_other_software(store: Store, results: Path, save: Save) -> None:
    newer = a_record(grade="B", libraries={"torch": "9"}, **after(1))
    save(a_record(grade="B", **after(0)), newer)
    store.merge([results])
    (earlier,) = store.neighbours("1")
    assert not earlier.same_software


def test_the_newest_run_that_measured_cells_before(store: Store, results: Path, save: Save) -> None:
    first, other = a_record(**after(0)), a_record(batch_size=8, **after(0))
    save(first, other, a_record(**after(1)))
    wanted = {record.cell_id: (str(record.model_id), record.profile) for record in (first, other)}
    store.merge([results])
    before = store.measured_before(wanted, EXAMPLE_HOST, first.launcher)
    assert before is not None
    assert (before.run_id, before.cells) == ("1", 1)
    assert before.measured_at == RECORDED_AT + timedelta(hours=1)
    for answer in (
        store.measured_before(
            dict.fromkeys(wanted, ("other", first.profile)), EXAMPLE_HOST, first.launcher
        ),
        store.measured_before(
            {SERIES_CELL: (str(first.model_id), "audit")}, EXAMPLE_HOST, first.launcher
        ),
        store.measured_before(wanted, "elsewhere", first.launcher),
        store.measured_before(wanted, EXAMPLE_HOST, "slurm"),
        store.measured_before({}, EXAMPLE_HOST, first.launcher),
    ):
        assert answer is None
