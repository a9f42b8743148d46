"""A results folder with an honest run in it, and beside it a run whose job is hostile."""

import hashlib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from orchestrator.commands.measure.run import failed_traces
from orchestrator.launchers.base import Exit, Launcher
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.sweep import REFUSED_FOLDER
from orchestrator.store.query.ask import query
from orchestrator.store.records.validate import read_record
from runner.contract.job import Job, Limits
from runner.contract.record.files import save_record
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.job.harness import Harness
from runner.process import Progress
from tests.hostile.attacks import Attack, Scene
from tests.support.fakes import KeptObserver, ScriptedLauncher
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.runs import a_plan, a_run_folder

_LIMITS = Limits(cell_timeout_s=5, output_bytes=64 << 20)
_VERDICTS = """
    SELECT model, list(status ORDER BY status) AS verdicts
    FROM benchmark_results WHERE run_id = 'attacked' GROUP BY model ORDER BY model
"""
SECRET = "what no job may read"
_OF_THE_VICTIM = (
    "SELECT * FROM benchmark_results WHERE run_id = 'victim' ORDER BY result_id",
    "SELECT * FROM raw_benchmark_data WHERE result_id LIKE 'victim/%' ORDER BY result_id",
    "SELECT * FROM replay_jobs WHERE result_id LIKE 'victim/%' ORDER BY result_id",
    "SELECT * FROM benchmark_runs WHERE run_id = 'victim'",
    "SELECT h.* EXCLUDE (seen_at) FROM hardware_info h SEMI JOIN benchmark_results r"
    " ON h.hardware_id = r.hardware_id AND r.run_id = 'victim'",
    "SELECT e.* EXCLUDE (seen_at) FROM environments e SEMI JOIN benchmark_results r"
    " ON e.environment_id = r.environment_id AND r.run_id = 'victim'",
    "SELECT m.* EXCLUDE (seen_at) FROM models m SEMI JOIN benchmark_results r"
    " ON m.model_id = r.model_id AND r.run_id = 'victim'",
)
"""All that the database says of the honest run, save when something was last seen."""


def measured_records(folder: Path) -> dict[int, Record]:
    """Records that the real harness made of the fake backend, by batch size."""
    folder.mkdir()
    Harness(a_job([fake_cell(1), fake_cell(2)]), folder, Progress(io.StringIO())).run()
    return {record.batch_size: record for record in map(read_record, folder.iterdir())}


@dataclass
class Village:
    """The host: an honest run, files that are nobody's business, and a run that is attacked."""

    path: Path
    samples: dict[int, Record]
    """Honest records, by batch size."""
    observer: KeptObserver = field(default_factory=KeptObserver)

    def settle(self) -> None:
        """Lay down the files of the host, and let the honest run end."""
        self.host.mkdir()
        (self.host / "secret.txt").write_text(SECRET)
        cells = [fake_cell(size) for size in self.samples]
        honest = a_run_folder(self.results, a_plan(cells), run_id="victim")
        self._run(honest, ScriptedLauncher(self._honest))
        foreign = next(honest.records.glob("*/*.parquet")).read_bytes()
        (self.host / "record.parquet").write_bytes(foreign)

    @property
    def results(self) -> Path:
        return self.path / "results"

    @property
    def host(self) -> Path:
        return self.path / "host"

    def attack(self, attack: Attack) -> RunOutcome:
        """Run two cells in a launch that measures them and then commits the attack."""

        def script(job: Job, out: Path, lines: Any) -> Exit:
            self._save(job, out)
            code = attack(Scene(job, out, lines.put)) or 0
            lines.put(None)
            return Exit(code, out_of_memory=False, log="")

        return self.execute([attack], ScriptedLauncher(script))

    def execute(self, attacks: Sequence[Attack], launcher: Launcher) -> RunOutcome:
        """Run two cells of a model for each attack; the model says which attack is meant."""
        models = {
            attack.__name__: fake_model(host=str(self.host), attack=attack.__name__)
            for attack in attacks
        }
        cells = [fake_cell(size, model=name) for name in models for size in self.samples]
        plan = a_plan(cells, limits=_LIMITS).model_copy(update={"models": models})
        return self._run(a_run_folder(self.results, plan, run_id="attacked"), launcher)

    def resume(self) -> RunOutcome:
        """Continue the attacked run in an honest image."""
        return self._run(self.folder, ScriptedLauncher(self._honest))

    @property
    def folder(self) -> RunFolder:
        """The attacked run's folder."""
        return RunFolder.open(self.results, "attacked")

    def _run(self, folder: RunFolder, launcher: Launcher) -> RunOutcome:
        return RunExecution(folder, launcher, self.observer, RunOptions(scratch=True)).run()

    def _honest(self, job: Job, out: Path, lines: Any) -> Exit:
        self._save(job, out)
        lines.put(None)
        return Exit(0, out_of_memory=False, log="")

    def _save(self, job: Job, out: Path) -> None:
        for cell in job.cells:
            known = Record.of(job, cell, Outcome(status="ok"))
            sample = self.samples[cell.batch_size].model_dump()
            measured = sample.keys() - known.model_fields_set - Outcome.model_fields.keys()
            outcome = Outcome(**{name: sample[name] for name in Outcome.model_fields})
            columns = {name: sample[name] for name in measured}
            save_record(Record.of(job, cell, outcome, columns), out)

    def rows_of_the_victim(self) -> list[list[tuple[Any, ...]]]:
        with duckdb.connect(self.database, read_only=True) as connection:
            return [connection.execute(sql).fetchall() for sql in _OF_THE_VICTIM]

    @property
    def database(self) -> Path:
        return self.results / "benchmarks.duckdb"

    def verdicts(self) -> dict[str, list[str]]:
        """All verdicts that the database has on the attacked run, by model."""
        rows = query(self.database, _VERDICTS).to_pylist()
        return {row["model"]: row["verdicts"] for row in rows}

    def planned(self, **expected: str) -> dict[str, list[str]]:
        """The verdicts where one cell of each model ends like that, and all others well."""
        well = ["ok"] * (len(self.samples) - 1)
        return {name: sorted([status, *well]) for name, status in expected.items()}

    def runs(self) -> set[str]:
        """All runs of which the database knows anything."""
        sql = "SELECT run_id FROM benchmark_results UNION SELECT run_id FROM benchmark_runs"
        return {row["run_id"] for row in query(self.database, sql).to_pylist()}

    def elsewhere(self) -> dict[str, str]:
        """Everything outside the attacked run and the database: its kind, rights and content."""
        attacked, database = self.results / "attacked", self.database.name
        return {
            str(path.relative_to(self.path)): _fingerprint(path)
            for path in self._below(self.path)
            if attacked not in (path, *path.parents) and database not in path.name
        }

    def _below(self, folder: Path) -> Iterator[Path]:
        """Everything in the folder, save what a run has set aside."""
        for path in folder.iterdir():
            yield path
            if path.is_dir() and not path.is_symlink() and path.name != REFUSED_FOLDER:
                yield from self._below(path)

    def require_untouched(self, rows: object, elsewhere: object) -> None:
        """Assert that nothing of the honest run, the host or its secrets was touched or shown."""
        assert self.rows_of_the_victim() == rows
        assert self.runs() == {"victim", "attacked"}
        assert self.elsewhere() == elsewhere
        assert self._privileged() == []
        shown = [*self.observer.notes, *failed_traces(self.folder).values()]
        assert not any(SECRET in text or "\x1b" in text for text in shown)

    def _privileged(self) -> list[Path]:
        """Files with rights that come from their owner or group."""
        bits = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
        return [path for path in self._below(self.path) if path.lstat().st_mode & bits]


def _fingerprint(path: Path) -> str:
    status = path.lstat()
    content = ""
    if stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)  # noqa: PTH115
    elif stat.S_ISREG(status.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{status.st_mode:o} {status.st_nlink if not path.is_dir() else ''} {content}"
