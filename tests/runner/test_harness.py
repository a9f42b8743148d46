from pathlib import Path
from typing import Any

import pytest

from runner.cell import Cell, Job
from runner.errors import RecordNotSaved
from runner.harness import Harness
from runner.models import TensorSpec
from runner.record import Record, read_record
from tests.fakes import KeptProgress
from tests.jobs import a_job, fake_cell, fake_model


def run(job: Job, out: Path) -> tuple[dict[Cell, Record], KeptProgress]:
    progress = KeptProgress()
    Harness(job, out, progress).run()
    return {cell: read_record(out / f"{cell.id}.parquet") for cell in job.cells}, progress


def test_every_cell_gets_one_record_with_raw_durations(tmp_path: Path) -> None:
    job = a_job([fake_cell(1), fake_cell(2)])
    records, _ = run(job, tmp_path)
    for cell, record in records.items():
        assert record.status == "ok"
        assert record.batch_size == cell.batch_size
        assert record.durations_ns is not None
        assert len(record.durations_ns) == record.iterations == 3
        assert record.warmup_durations_ns is not None
        assert len(record.warmup_durations_ns) == 1 + (record.warmup_iterations or 0)
    assert len(list(tmp_path.iterdir())) == 2


def test_shapes_share_one_loaded_model(tmp_path: Path) -> None:
    records, progress = run(a_job([fake_cell(1), fake_cell(2), fake_cell(4)]), tmp_path)
    loads = [event for event in progress.events if event.get("phase") == "load"]
    assert len(loads) == 1
    assert len({record.load_time_s for record in records.values()}) == 1


def test_progress_tells_each_phase_and_verdict_in_order(tmp_path: Path) -> None:
    cell = fake_cell()
    _, progress = run(a_job([cell]), tmp_path)
    told = [(e["event"], e.get("phase") or e.get("status"), e["cell_id"]) for e in progress.events]
    assert told == [
        ("phase", "load", None),
        ("phase", "first", cell.id),
        ("phase", "warmup", cell.id),
        ("phase", "steady", cell.id),
        ("recorded", "ok", cell.id),
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
    assert "scripted" in (bad.reason or "")
    assert bad.latency_median_s is None
    trace = tmp_path / Path(bad.log or "").name
    assert "Traceback" in trace.read_text()


def test_a_model_that_does_not_load_is_a_verdict_on_every_cell(tmp_path: Path) -> None:
    job = a_job([fake_cell(1), fake_cell(2)], fake_model({"load": "raise"}))
    records, _ = run(job, tmp_path)
    assert {(record.status, record.phase) for record in records.values()} == {("failed", "load")}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"runtime": "onnxruntime"}, "this runner knows no runtime onnxruntime"),
        ({"mode": "training"}, "this runner knows no mode training"),
    ],
)
def test_what_the_runner_cannot_do_is_unsupported(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    records, _ = run(a_job([fake_cell(**changes)]), tmp_path)
    (record,) = records.values()
    assert record.status == "unsupported"
    assert reason in (record.reason or "")


def test_a_fake_row_claims_no_proof(tmp_path: Path) -> None:
    records, _ = run(a_job(), tmp_path)
    (record,) = records.values()
    assert (record.proof, record.backend) == ("none", "fake")


def test_a_folder_that_takes_no_records_ends_the_job(tmp_path: Path) -> None:
    with pytest.raises(RecordNotSaved):
        Harness(a_job(), tmp_path / "gone", KeptProgress()).run()
    failing = a_job(model=fake_model({"*": "raise"}))
    with pytest.raises(RecordNotSaved):
        Harness(failing, tmp_path / "gone", KeptProgress()).run()


def test_making_inputs_belongs_to_the_cell_and_not_to_the_load(tmp_path: Path) -> None:
    unmakable = TensorSpec(name="ids", kind="token_ids", shape=("batch_size",))
    model = fake_model().model_copy(update={"inputs": (unmakable,)})
    records, progress = run(a_job([fake_cell(1)], model), tmp_path)
    (record,) = records.values()
    assert (record.status, record.phase) == ("unsupported", "first")
    assert [event.get("phase") for event in progress.events] == ["load", "first", None]
