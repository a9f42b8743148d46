"""The spread of fresh processes is kept by machine and path, and jobs bring it along."""

from pathlib import Path

import pytest

from orchestrator.backends.machine import this_host
from orchestrator.commands.measure import calibrate
from orchestrator.commands.measure.calibrate import (
    PROCESSES,
    CalibrateResult,
    calibration_matrix,
    other_load_of,
    print_calibration,
    spreads_of,
)
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.diagnosis import Diagnosis
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.calibration import (
    CALIBRATION_NAME,
    read_spreads,
    save_spreads,
    spreads_of_path,
)
from orchestrator.running.create import create_run
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.store.merge.report import MergeReport
from runner.contract.axes import RUNTIMES
from runner.contract.errors import StoreError
from runner.contract.record.ids import hardware_id
from runner.measure.statistics.spread import effective_rounds
from tests.support.jobs import a_job, a_spread, fake_cell
from tests.support.records import record_for
from tests.support.runs import a_plan, a_run_folder

SPREAD, OTHER = a_spread(0.012), a_spread(0.03)


def test_spreads_are_kept_by_machine_and_path(tmp_path: Path) -> None:
    assert read_spreads(tmp_path, "here") == {}
    save_spreads(tmp_path, "here", {"cpu/torch/d1": SPREAD})
    save_spreads(tmp_path, "there", {"cpu/torch/d1": OTHER})
    save_spreads(tmp_path, "here", {"cpu/onnxruntime/d1": OTHER})
    assert read_spreads(tmp_path, "here") == {"cpu/torch/d1": SPREAD, "cpu/onnxruntime/d1": OTHER}
    assert read_spreads(tmp_path, None) == {}


def test_one_devices_spread_is_not_anothers(tmp_path: Path) -> None:
    save_spreads(tmp_path, "here", {"cuda/torch/d1": SPREAD, "cuda/torch_compile/d1": OTHER})
    save_spreads(tmp_path, "here", {"cuda/torch/d2": OTHER})
    cell = fake_cell(backend="cuda", runtime="torch")
    spreads = spreads_of_path(read_spreads(tmp_path, "here"), cell)
    assert spreads == {"d1": SPREAD, "d2": OTHER}
    job = a_job([cell]).model_copy(update={"process_spreads": spreads})
    first, second, third = (job.on_hardware(name) for name in ("d1", "d2", "d3"))
    assert (first.process_spread, second.process_spread) == (SPREAD, OTHER)
    assert (third.process_spread, third.process_spreads) == (None, None)
    assert first.on_hardware("d2") == first


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "Invalid JSON: "), (b'{"hosts": 3}', "hosts: Input should be ")]
)
def test_a_damaged_file_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / CALIBRATION_NAME
    path.write_bytes(content)
    message = f"^{path}: cannot be read as a calibration: {reason}"
    with pytest.raises(StoreError, match=message) as refusal:
        read_spreads(tmp_path, "here")
    assert "`orchestrator doctor --calibrate`" in (refusal.value.hint or "")
    with pytest.raises(StoreError, match=message):
        save_spreads(tmp_path, "here", {"cpu/torch/d1": SPREAD})
    assert path.read_bytes() == content


@pytest.mark.slow
def test_jobs_of_a_new_run_bring_the_spread_of_their_path(tmp_path: Path) -> None:
    host = this_host()
    assert host is not None
    save_spreads(tmp_path, host, {"fake/fake/d1": SPREAD})
    plan: Plan = a_plan()
    options = RunOptions(launcher="process", scratch=True)
    folder = create_run(plan, RunSource(), tmp_path, options)
    assert folder.run.job(folder.cells[:1], folder.nowhere).process_spreads == {"d1": SPREAD}
    save_spreads(tmp_path, host, {"fake/fake/d1": OTHER})
    assert folder.run.job(folder.cells[:1], folder.nowhere).process_spreads == {"d1": SPREAD}


def test_every_runtime_of_the_devices_is_calibrated_and_no_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Diagnosis("cpu", "process", True, 1, "", None),
        Diagnosis("qnn", "process", True, 3, "", None, simulated=True),
        Diagnosis("cuda", "process", False, 2, "", None),
    ]
    monkeypatch.setattr(calibrate, "diagnose", lambda launchers: found)
    matrix = calibration_matrix("process")
    assert list(matrix.axes["backend"]) == ["cpu"]
    assert matrix.measure["cpu"].rounds == PROCESSES
    plan, _ = plan_run(PlanRequest(matrix, results=tmp_path, options=RunOptions(no_verify=True)))
    assert {entry.cell.runtime for entry in plan.entries} == {*RUNTIMES["cpu"]}
    assert plan.groups == ()


def test_a_calibration_is_what_its_records_say(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path)
    first, second, _ = folder.cells
    device = hardware_id({})
    near = effective_rounds(8, [9.0 * number for number in range(8)])
    differs = {
        "rounds": 8,
        "latency_between_process_cv": 0.02,
        "hardware_id": device,
        "effective_rounds": near.count,
        "round_degrees": near.degrees,
    }
    for cell, columns in ((first, differs), (second, {})):
        folder.save(
            record_for(folder.run.job([cell], folder.nowhere), cell, status="failed", **columns)
        )
    ((key, spread),) = spreads_of(folder.cells, folder.sound_records()).items()
    assert (key, spread.processes) == (f"fake/fake/{device}", 8)
    assert spread.degrees == near.degrees < 7
    assert spread.cv == pytest.approx(0.02 / 0.796, rel=1e-3), "near processes differ by less"


@pytest.mark.parametrize(("load", "told"), [(0.3, True), (0.02, False), (None, False)])
def test_a_calibration_beside_others_says_so(
    tmp_path: Path, load: float | None, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run_folder(tmp_path)
    (cell, *_) = folder.cells
    job = folder.run.job([cell], folder.nowhere)
    folder.save(record_for(job, cell, status="failed", noise_other_load=load))
    spreads, outcome = {"fake/fake/d1": SPREAD}, RunOutcome(MergeReport(), (), 0, 0)
    result = CalibrateResult(spreads, tmp_path, outcome, other_load_of(folder.sound_records()))
    print_calibration(result, as_json=False)
    assert ("Others used up to 30 % of the CPUs" in capsys.readouterr().out) == told
