"""A launch leaves the records of cells that earlier launches measured as they were."""

from collections.abc import Callable
from pathlib import Path
from queue import Queue

import pytest

from orchestrator.launchers.base import Exit
from orchestrator.running.execution import RunExecution
from orchestrator.running.options import RunOptions
from orchestrator.store.records.compact import compact
from orchestrator.store.store import Store
from runner.contract.job import Job
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from runner.contract.rounds import round_path
from tests.support.fakes import KeptObserver, ScriptedLauncher, finish, record
from tests.support.jobs import fake_cell
from tests.support.records import record_for
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder

MEASURED, DUE = fake_cell(1), fake_cell(2)
Deed = Callable[[Path, Record], object]


def falsify(path: Path, earlier: Record) -> None:
    save_record(earlier.model_copy(update={"load_time_s": 99.0}), path.parent)


def remove(path: Path, earlier: Record) -> None:
    path.unlink(missing_ok=True)


def replace_by_folder(path: Path, earlier: Record) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "is_compact", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["own file", "compact"]
)
@pytest.mark.parametrize("deed", [falsify, remove, replace_by_folder])
def test_what_another_image_measured_stays(tmp_path: Path, deed: Deed, *, is_compact: bool) -> None:
    folder = a_run_folder(tmp_path / "results", a_plan([MEASURED, DUE]))
    image = SOMEWHERE.model_copy(update={"image": "x:1", "image_digest": f"sha256:{'a' * 64}"})
    before = folder.job([MEASURED, DUE], image)
    folder.job_files.write(before)
    earlier = record_for(before, MEASURED)
    folder.save(earlier)
    if is_compact:
        compact(folder.records, folder.run.run_id, [MEASURED.id])
    known = folder.record_of(MEASURED)

    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        assert job.cells == (DUE,)
        deed(out / f"{MEASURED.id}.parquet", earlier)
        round_path(out, MEASURED, 1).write_text("{}")
        record(lines, job, DUE, out)
        return finish(lines)

    observer, database = KeptObserver(), tmp_path / "results" / "benchmarks.duckdb"
    options = RunOptions(database=database, scratch=True)
    run = RunExecution(folder, ScriptedLauncher(script), observer, options, engine_grace_s=0)
    assert run.run().exit_code == 0
    assert folder.record_of(MEASURED) == known
    part = round_path(folder.records / MEASURED.job_id, MEASURED, 1)
    assert not part.exists()
    assert any(line.startswith(f"{part.name}: was changed") for line in observer.notes)
    with Store.open_readonly(database) as store:
        assert set(store.verdicts(folder.run.run_id).values()) == {"ok"}
