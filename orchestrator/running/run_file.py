"""`run.json`, which keeps a run's options and its plan: enough to resume it."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime, Field, ValidationError

from orchestrator.backends.catalogue import LauncherName
from orchestrator.launchers.checkout import Checkout
from orchestrator.launchers.registry import Pinned
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.calibration import spreads_of_path
from orchestrator.running.options import RunOptions
from orchestrator.store.query.runs import RUN_ID
from orchestrator.system.problems import first_fault
from orchestrator.system.text import format_size
from runner.contract.cell import Cell, FileName, Frozen, Purpose
from runner.contract.errors import DamagedFile, UsageError
from runner.contract.files import read_plain
from runner.contract.job import Job, ProcessSpread, Provenance, SideBySide
from runner.contract.web import BrowserChoice

RUN_FILE = "run.json"
RUN_BYTES = 64 << 20
"""Most bytes of a `run.json`, and of a job: the plan of 100,000 cells has some 60 MB."""
_SECONDS = "%Y%m%d-%H%M%S"
PREPARATIONS_FOLDER = "preparations"
"""The folder, beside those of runs, with jobs and logs of `run --prepare-only` and of counts."""
BISECTIONS_FOLDER = "bisections"
"""The folder, beside those of runs, with the runs and the database of `regress --bisect`."""


class RecordedVersion(Frozen):
    """A version of what is measured, as records name it, measured again for a comparison."""

    compared: FileName
    """The run that is compared with it, launch by launch."""
    images: tuple[Pinned, ...]
    """The images that its jobs execute in, one for each backend."""
    checkout: Checkout | None = None
    """The other checkout whose runner executes its jobs; null for our own, and for images'."""
    graphs: dict[str, FileName] = Field(default_factory=dict)
    """The prepared graphs that its jobs execute, as long as they are there, by cell id."""


class RunFile(RunSource):
    """The content of `run.json`."""

    options: RunOptions
    """The options, with the launcher that was chosen and the seed that was drawn."""
    purpose: Purpose
    """Cells are timed, verified or both; or artifacts are made."""
    browser: BrowserChoice | None = None
    """The browser that local processes drive; null for our own."""
    run_id: FileName
    started_at: AwareDatetime
    """The moment it was planned, UTC."""
    git_commit: str | None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    hostname: str
    orchestrator_version: str
    plan: Plan
    group_id: FileName | None = None
    """The id that the runs of one matrix on several classes of hosts share; null without them."""
    host_class: FileName | None = None
    """The class of a fleet's hosts that alone measures it; null for a run that has no class."""
    hosts: tuple[str, ...] = ()
    """Globs of the names of a fleet's hosts that may measure it; empty for all of them."""
    process_spreads: dict[str, ProcessSpread] = Field(default_factory=dict)
    """The calibrated spread of fresh processes on this host, by path and device."""
    version: RecordedVersion | None = None
    interleaving: "Interleaving | None" = None
    """The run that is measured side by side with this one; null if it stands alone."""

    @property
    def launcher(self) -> LauncherName:
        assert self.options.launcher != "auto"
        return self.options.launcher

    @property
    def seed(self) -> int:
        assert self.options.seed is not None
        return self.options.seed

    def job(self, cells: Sequence[Cell], provenance: Provenance, round_: int = 1) -> Job:
        """The job that carries these cells, which share model, runtime, precision and mode.

        `round_` counts from 1.
        """
        plan, first = self.plan, cells[0]
        measure = plan.measure_of(first)
        return Job(
            run_id=self.run_id,
            id=first.job_id,
            model=plan.models[first.model],
            cells=tuple(cells),
            measure=measure,
            limits=plan.limits[first.backend],
            seed=self.seed,
            weights_seed=self.options.weights_seed,
            provenance=provenance,
            purpose=self.purpose,
            trace=self.options.trace,
            round=round_,
            inherit_environ=tuple(self.options.inherit_environ or ()),
            browser=self.browser_of(first),
            process_spreads=spreads_of_path(self.process_spreads, first) or None,
            interleaved_with=self.interleaving and self.interleaving.baseline.run_id,
            side_by_side=self._side_by_side(first.job_id),
        )

    def _side_by_side(self, job_id: str) -> SideBySide | None:
        group = self.plan.group_of.get(job_id)
        if group is None:
            return None
        compared = self.version.compared if self.version else self.run_id
        name = f"{compared}.{group.name}"
        return SideBySide(group=name, looks=group.looks, together=group.together)

    def most_results(self, cell: Cell) -> int:
        """The rounds that leave a result: the last one leaves a record, unless others decide it."""
        rounds = self.plan.measure_of(cell).most_rounds
        return rounds if cell.job_id in self.plan.group_of else rounds - 1

    def browser_of(self, cell: Cell) -> BrowserChoice | None:
        """The chosen browser, where the cell executes in one: an image has its own."""
        drives = cell.runtime == "onnxruntime_web" and self.launcher == "process"
        return self.browser if drives else None


class Interleaving(Frozen):
    """A comparison of a run with a baseline, launch by launch."""

    baseline: RunFile
    """The run that measures the baseline's version. Its folder is made with that of this run."""
    threshold: float


def new_run_id(results: Path, *others: str) -> str:
    """An id that sorts by time, e.g. `20261121-115951-3fa2`; the end counts 1/65536 seconds.

    If the clock was set back, so that runs of this folder lie ahead, it is a moment after theirs:
    the last run is the one that began last. So it is with ids of others that have no folder yet.
    """
    now = _id_at(datetime.now(UTC))
    names = (path.name for path in run_folders(results))
    newest = max(filter(RUN_ID.fullmatch, (*names, *others)), default="")
    with suppress(ValueError, OverflowError):  # a folder of another origin
        if newest >= now:
            day_and_time = newest.rpartition("-")[0]
            return _id_at(datetime.strptime(day_and_time, _SECONDS) + timedelta(seconds=1))
    return now


def _id_at(moment: datetime) -> str:
    return f"{moment:{_SECONDS}}-{moment.microsecond * 0x10000 // 1_000_000:04x}"


def run_file_text(run: RunFile) -> str:
    text = run.model_dump_json()
    if (size := len(text.encode())) > RUN_BYTES:
        raise UsageError(
            f"the plan of {len(run.plan.entries):,} cells takes {format_size(size)} in {RUN_FILE};"
            f" a run may have {format_size(RUN_BYTES)}",
            hint="leave cells out with `--select`, or split the matrix into several runs",
        )
    return text


def read_run_file(path: Path) -> RunFile:
    """The content of a `run.json`.

    Raises:
        DamagedFile: it cannot be read, or is none; the reason does not name the file.
    """
    try:
        return RunFile.model_validate_json(read_plain(path, RUN_BYTES))
    except OSError as error:
        raise DamagedFile(f"cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise DamagedFile(f"cannot be read: {first_fault(error)}") from error


RunFile.model_rebuild()


def run_folders(results: Path) -> list[Path]:
    return sorted(path.parent for path in results.glob(f"[!.]*/{RUN_FILE}"))
