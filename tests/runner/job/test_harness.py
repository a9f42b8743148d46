"""Jobs on the fake backend: a record for every cell, whatever happens to it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orchestrator.store.records.validate import read_record
from runner.backends.base import Region
from runner.contract.cell import Cell
from runner.contract.errors import RecordNotSaved
from runner.contract.job import Job, SideBySide
from runner.contract.models import ModelSpec, TensorSpec
from runner.contract.reasons import parse_reason
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.contract.rounds import raw_columns, read_rounds, round_path
from runner.inputs import LABELS, Inputs
from runner.job.harness import LEAST_NS, LEAST_QUERIES, Harness, host_to_host_s, region_columns
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.replication import DEFAULT_SPREAD
from runner.process import Gate, Orders
from tests.support.fakes import KeptProgress
from tests.support.jobs import FAST, a_job, a_spread, fake_cell, fake_model
from tests.support.scene import Scene
from tests.support.words import words_of


def run(job: Job, out: Path) -> tuple[dict[Cell, Record], KeptProgress]:
    progress = KeptProgress()
    Harness(job, out, progress).run()
    return {cell: read_record(out / f"{cell.id}.parquet") for cell in job.cells}, progress


def run_one(job: Job, out: Path) -> Record:
    """The record of a job of one cell."""
    (record,) = run(job, out)[0].values()
    return record


class Finished(NamedTuple):
    """A job of two shapes that was measured, with traces."""

    job: Job
    folder: Path
    records: dict[Cell, Record]
    progress: KeptProgress


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("out")
    job = a_job([fake_cell(1), fake_cell(2)]).model_copy(update={"trace": True})
    records, progress = run(job, folder)
    return Finished(job, folder, records, progress)


def test_every_cell_gets_one_record_with_raw_durations_and_no_proof(finished: Finished) -> None:
    for cell, record in finished.records.items():
        assert (record.status, record.batch_size) == ("ok", cell.batch_size)
        assert (record.proof, record.backend) == ("none", "fake")
        assert record.execution_options == {"shape": cell.shape}
        assert record.durations_ns is not None
        assert len(record.durations_ns) == record.iterations >= 3
        assert record.warmup_durations_ns is not None
        assert len(record.warmup_durations_ns) == 1 + (record.warmup_iterations or 0)
        for name in ("trace.json", "operators.txt"):
            assert (finished.folder / f"{cell.id}.{name}").exists()
    assert len(list(finished.folder.glob("*.parquet"))) == 2
    assert len({record.load_time_s for record in finished.records.values()}) == 1


def test_a_record_tells_of_each_variable_that_its_job_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MY_SWITCH", "OTHER"):
        monkeypatch.setenv(name, "1")
    job = a_job([fake_cell()]).model_copy(update={"inherit_environ": ("MY_SWITCH",)})
    variables = run_one(job, tmp_path).environment_variables or {}
    assert variables["MY_SWITCH"].startswith("sha256:")
    assert "OTHER" not in variables


def test_progress_reports_each_phase_and_status_in_order(finished: Finished) -> None:
    first, second = (cell.id for cell in finished.job.cells)
    events = [
        (event.get("phase") or event.get("status"), event["cell_id"])
        for event in finished.progress.events
    ]
    visit = ("first", "warmup", "steady", "observe", "observe")
    assert events == [
        ("load", None),
        *((phase, first) for phase in (*visit, "verify", "ok")),
        *((phase, second) for phase in (*visit, "ok")),
        *(("observe", cell) for cell in (first, second)),  # traces come last
    ]


@pytest.mark.parametrize(
    ("fault", "status"), [("raise", "failed"), ("memory_error", "out_of_memory")]
)
def test_a_failing_cell_is_data_and_the_others_are_measured(
    tmp_path: Path, fault: str, status: str
) -> None:
    job = a_job([fake_cell(1), fake_cell(2)], fake_model({"*-b1-*": fault}))
    records, _ = run(job, tmp_path)
    bad, good = (records[cell] for cell in job.cells)
    assert (bad.status, bad.phase, good.status) == (status, "first", "ok")
    assert "scripted" in (words_of(bad.ending) or "")
    assert (bad.latency_median_s, bad.execution_options) == (None, None)
    assert good.execution_options is not None
    assert bad.load_time_s == good.load_time_s
    assert "Traceback" in (tmp_path / Path(bad.log or "").name).read_text()


def test_a_model_that_does_not_load_is_a_verdict_on_every_cell(tmp_path: Path) -> None:
    job = a_job([fake_cell(1), fake_cell(2)], fake_model({"load": "raise"}))
    records, _ = run(job, tmp_path)
    assert {(record.status, record.phase) for record in records.values()} == {("failed", "load")}


def test_what_the_runner_cannot_do_is_unsupported(tmp_path: Path) -> None:
    record = run_one(a_job([fake_cell(mode="training")]), tmp_path)
    assert record.status == "unsupported"
    assert "training needs labels, and scripted has none" in (words_of(record.ending) or "")


def test_a_folder_that_takes_no_records_ends_the_job(tmp_path: Path) -> None:
    with pytest.raises(RecordNotSaved):
        Harness(a_job(), tmp_path / "gone", KeptProgress()).run()
    failing = a_job(model=fake_model({"*": "raise"}))
    with pytest.raises(RecordNotSaved):
        Harness(failing, tmp_path / "gone", KeptProgress()).run()


def trainable(**config: Any) -> ModelSpec:
    labels = TensorSpec(name=LABELS, kind="token_ids", shape=("batch_size",), high=2)
    return fake_model(**config).model_copy(update={"labels": labels})


@pytest.mark.parametrize(
    ("changes", "filled"),
    [
        ({}, ["latency_median_s", "first_latency_s", "memory_steady_peak_bytes"]),
        ({"mode": "generation", "new_tokens": 3}, ["time_to_first_token_mean_s"]),
        ({"mode": "training"}, ["forward_mean_s", "optimizer_median_s", "training_loss_last"]),
        pytest.param(
            {"mode": "startup"},
            ["startup_warm_import_median_s", "concurrent_speedup"],
            marks=pytest.mark.slow,
        ),
        ({"scenario": "offline"}, ["search", "throughput"]),
        ({"scenario": "server", "target_qps": 200.0}, ["achieved_qps", "service_median_s"]),
    ],
)
def test_every_mode_and_scenario_fills_its_columns(
    tmp_path: Path, changes: dict[str, Any], filled: list[str]
) -> None:
    record = run_one(a_job([fake_cell(**changes)], trainable()), tmp_path)
    assert (record.status, words_of(record.ending)) == ("ok", None)
    always = ["grade", "noise_score", "memory_peak_bytes", "memory_method", "energy_method"]
    always += ["timed_region", "clock_resolution_s", "harness_overhead_s", "garbage_collection"]
    always += ["percentile_iterations_needed", "correct_code", "job", "rounds"]
    missing = [name for name in always + filled if getattr(record, name) is None]
    assert missing == []


UNLEARNT = "scripted did not change in 1 step"


@pytest.mark.parametrize(
    ("config", "changes", "purpose", "reason"),
    [
        ({"finite": False}, {}, "measure", "NaN or infinity"),
        ({"tokens": 2}, {"mode": "generation", "new_tokens": 3}, "measure", "generated 2 of 3"),
        ({"losses": [1.0, float("inf")]}, {"mode": "training"}, "measure", "loss"),
        ({"learns": False}, {"mode": "training"}, "measure", "did not change"),
        ({"learns": False}, {"mode": "training"}, "verify", UNLEARNT),
    ],
)
def test_work_that_was_not_done_is_a_failure(
    tmp_path: Path, config: dict[str, Any], changes: dict[str, Any], purpose: str, reason: str
) -> None:
    job = a_job([fake_cell(**changes)], trainable(**config))
    record = run_one(job.model_copy(update={"purpose": purpose}), tmp_path)
    assert record.status == "failed"
    assert reason in (words_of(record.ending) or "")


def in_round(number: int, rounds: int = 3) -> Job:
    measure = FAST.model_copy(update={"rounds": rounds, "iterations": 30})
    return a_job([fake_cell(1), fake_cell(2)], measure=measure).model_copy(update={"round": number})


@pytest.mark.slow
def test_rounds_leave_results_and_the_last_one_makes_the_records(tmp_path: Path) -> None:
    for number in (1, 2):
        job, progress = in_round(number), KeptProgress()
        Harness(job, tmp_path, progress).run()
        assert all(round_path(tmp_path, cell, number).exists() for cell in job.cells)
        visited = [event["cell_id"] for event in progress.events if event["event"] == "visited"]
        assert visited == [cell.id for cell in job.cells]
        assert not list(tmp_path.glob("*.parquet"))
        phases = {event.get("phase") for event in progress.events}
        assert ("verify" in phases) == (number == 1)
    records, _ = run(in_round(3), tmp_path)
    for record in records.values():
        assert (record.status, record.rounds) == ("ok", 3)
        assert record.round_iterations is not None
        assert record.round_iterations[:2] == [10, 10]
        assert sum(record.round_iterations) == record.iterations == len(record.durations_ns or ())
        assert record.drift is not None
        assert record.drift_p_value is not None
        assert record.process_spread is None
        assert record.correct_code


def test_a_round_whose_predecessor_is_gone_fails_and_names_it(tmp_path: Path) -> None:
    records, _ = run(in_round(2, rounds=2), tmp_path)
    assert {record.status for record in records.values()} == {"failed"}
    assert "an earlier round cannot be read" in str(words_of(next(iter(records.values())).ending))


def test_a_calibration_of_another_device_says_nothing_of_this_one(
    finished: Finished, tmp_path: Path
) -> None:
    (own,) = {record.hardware_id or "" for record in finished.records.values()}
    spreads = {own: a_spread(), "another": a_spread(0.3)}
    for name, used in (("own", spreads), ("other", {"another": spreads["another"]})):
        out = tmp_path / name
        out.mkdir()
        record = run_one(a_job().model_copy(update={"process_spreads": used}), out)
        assert record.process_spread == (0.01 if name == "own" else DEFAULT_SPREAD.deviation)
        assert json.loads(record.job or "").get("process_spreads") is None


def test_a_trace_that_fails_leaves_the_record_and_a_reason(tmp_path: Path) -> None:
    job = a_job(model=fake_model({"trace": "raise"})).model_copy(update={"trace": True})
    assert run_one(job, tmp_path).status == "ok"
    content = (tmp_path / f"{job.cells[0].id}.trace.failed").read_text()
    assert words_of(parse_reason(content)) == "RuntimeError: a scripted failure"


CELL = a_job().cells[0]
GENERATING = CELL.model_copy(update={"mode": "generation"})
SERVED = CELL.model_copy(update={"scenario": "server"})


class Accelerated(Scene):
    """A session whose queries take four times as long with the copies."""

    def __init__(self, region: Region, trip_ns: int = NANOSECONDS // 25) -> None:
        super().__init__()
        self.region = region
        self.trips = 0
        self.trip_ns = trip_ns

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Callable[[], None]:
        del cell, inputs

        def query() -> None:
            self.trips += 1
            self.clock.pass_by(self.trip_ns)

        return query


@pytest.mark.parametrize(
    ("region", "cell", "expected"),
    [
        ("host", CELL, (0.01, 0.01)),
        ("device", CELL, (0.01, 0.04)),
        ("host_to_host", CELL, (None, 0.01)),
        ("device", GENERATING, None),
        ("host", SERVED, None),
    ],
)
def test_rows_of_all_devices_have_a_time_of_the_same_region(
    region: Region, cell: Cell, expected: tuple[float | None, float] | None
) -> None:
    scene = Accelerated(region)
    measured = host_to_host_s(scene.session, a_job(), cell, scene.clock)
    columns = region_columns(region, cell, 0.01, measured)
    if expected is None:
        assert (columns, scene.trips) == ({}, 0)
    else:
        assert columns["device_median_s"] == expected[0]
        assert columns["host_to_host_median_s"] == pytest.approx(expected[1])
        enough = 1 + max(LEAST_QUERIES, LEAST_NS * 25 // NANOSECONDS)
        assert scene.trips == (enough if region == "device" else 0)


BURSTS = 3


class InGroup(NamedTuple):
    """Rounds of a job of two shapes that is compared with others."""

    out: Path
    jobs: list[Job]
    events: list[list[dict[str, Any]]]


def compared(number: int, *, together: bool = True, **changes: Any) -> Job:
    """The job's round of that number; its group may end after the second and the third."""
    group = SideBySide(group="run-1.g1", looks=(2, 3), together=together)
    return in_round(number).model_copy(update={"side_by_side": group} | changes)


def take(job: Job, out: Path) -> list[dict[str, Any]]:
    """Its progress, as it takes so many bursts of some milliseconds at each cell."""
    orders, progress = Orders(), KeptProgress()
    for _ in job.cells:
        for line in [*['{"burst_s": 0.004}'] * BURSTS, "{}"]:
            orders.put(line)
    Harness(job, out, progress, gate=Gate(orders, progress) if job.takes_turns else None).run()
    return progress.events


@pytest.fixture(scope="module")
def in_group(tmp_path_factory: pytest.TempPathFactory) -> InGroup:
    out = tmp_path_factory.mktemp("group")
    jobs = [compared(number, trace=True) for number in (1, 2, 3)]
    return InGroup(out, jobs, [take(job, out) for job in jobs])


def test_no_round_of_a_group_is_the_last_one_and_each_leaves_what_a_record_would_say(
    in_group: InGroup,
) -> None:
    """Whoever sees all of the group decides that, and makes the record then."""
    assert not list(in_group.out.glob("*.parquet"))
    for cell in in_group.jobs[0].cells:
        rounds = read_rounds(in_group.out, cell, 3)
        for number, (job, result) in enumerate(zip(in_group.jobs, rounds, strict=True), 1):
            assert result.bursts is not None
            assert len(result.bursts.iterations) == BURSTS
            assert sum(result.bursts.iterations) == len(result.durations_ns)
            known = {**result.so_far, **raw_columns(rounds[:number])}
            record = Record.of(job, cell, Outcome(status="ok"), known)
            assert (record.side_by_side, record.looks) == ("run-1.g1", [2, 3])
            assert (record.rounds, record.round_bursts) == (number, [BURSTS] * number)
            assert record.grade
            assert record.correct_code


def test_a_cell_waits_when_it_is_warm_and_once_more_for_each_burst(in_group: InGroup) -> None:
    first = [
        event for event in in_group.events[0] if event["cell_id"] == in_group.jobs[0].cells[0].id
    ]
    names = [event.get("phase") or event["event"] for event in first]
    waits = ["waits"] * (BURSTS + 1)
    visit = ["first", "warmup", "steady", *waits, "observe", "observe", "verify", "visited"]
    assert names == [*visit, "observe"]  # the trace comes last


def test_the_first_round_of_a_group_leaves_the_traces(in_group: InGroup) -> None:
    for cell in in_group.jobs[0].cells:
        assert (in_group.out / f"{cell.id}.trace.json").exists()
    for number, events in enumerate(in_group.events, 1):
        ends = [event.get("phase") for event in events[-2:]]
        assert (ends == ["observe"] * 2) is (number == 1)


def test_launches_of_a_group_in_turns_take_their_time_in_one_go(tmp_path: Path) -> None:
    job = compared(3, together=False)
    for number in (1, 2, 3):
        events = take(compared(number, together=False), tmp_path)
        assert "waits" not in {event["event"] for event in events}
    assert not list(tmp_path.glob("*.parquet"))
    for cell in job.cells:
        rounds = read_rounds(tmp_path, cell, 3)
        assert [result.bursts for result in rounds] == [None] * 3
        assert [len(result.durations_ns) for result in rounds] == [10] * 3


def test_a_cell_of_a_group_that_fails_has_its_record_and_no_trace(tmp_path: Path) -> None:
    model = fake_model({"*-b1-*": "raise"})
    job = compared(1, trace=True, model=model)
    orders, progress = Orders(), KeptProgress()
    for line in [*['{"burst_s": 0.004}'] * BURSTS, "{}"]:
        orders.put(line)
    Harness(job, tmp_path, progress, gate=Gate(orders, progress)).run()
    bad, good = job.cells
    assert read_record(tmp_path / f"{bad.id}.parquet").status == "failed"
    assert round_path(tmp_path, good, 1).exists()
    traces = {path.name.split(".")[0] for path in tmp_path.glob("*.trace.*")}
    assert traces == {good.id}


def test_a_cell_that_only_its_check_refuses_has_no_trace_in_a_group(tmp_path: Path) -> None:
    job = compared(1, trace=True, model=fake_model(finite=False))
    take(job, tmp_path)
    assert {read_record(path).status for path in tmp_path.glob("*.parquet")} == {"failed"}
    assert not list(tmp_path.glob("*.trace.*"))


@pytest.mark.parametrize("mode", ["generation", "training"])
def test_bursts_of_every_mode_that_can_wait_have_their_parts(tmp_path: Path, mode: str) -> None:
    cell = fake_cell(mode=mode, new_tokens=3 if mode == "generation" else None)
    group = SideBySide(group="run-1.g1", looks=(2,))
    job = a_job([cell], trainable()).model_copy(update={"side_by_side": group})
    take(job, tmp_path)
    (result,) = read_rounds(tmp_path, cell, 1)
    assert result.bursts is not None
    iterations = sum(result.bursts.iterations)
    assert len(result.durations_ns) == iterations
    assert {len(values) % iterations for values in result.parts_ns.values()} == {0}
    assert result.parts_ns
