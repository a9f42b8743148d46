"""Maintenance of a results folder: drop runs, compact record files, vacuum the database."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.commands.database.retention import (
    NOTHING,
    RetentionPolicy,
    RunToDelete,
    bisections_folder,
    delete_path,
    runs_to_delete,
)
from orchestrator.exchange.imports.record import pack, take_out
from orchestrator.running.execution import devices_of
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RUN_FILE, run_folders
from orchestrator.store.database.connect import writer_lock
from orchestrator.store.health.copies import Vacuumed, vacuum
from orchestrator.store.health.decisions import drop_runs
from orchestrator.store.records.compact import Compaction, compact
from orchestrator.system.files import DATABASE_NAME, file_hint, translate_os_errors
from orchestrator.system.locks import hold_devices
from orchestrator.system.trees import tree_size
from runner.contract.errors import DamagedFile, StoreError

_DROPPED = ".dropped"
_HOLDER = "maintenance"
_DELETE_HINT = "delete the file yourself; its run is no longer in the database"


@dataclass(frozen=True)
class CompactRun:
    """A run, or all imports, whose record files were put into one."""

    run_id: str
    """The run's id; `imports` for those."""
    compaction: Compaction


@dataclass(frozen=True)
class UntouchedRun:
    """A run that was left as it is."""

    run_id: str
    reason: str


@dataclass(frozen=True)
class KeptBisections:
    """Runs of `regress --bisect` that maintenance left."""

    runs: int
    size_bytes: int
    """Bytes of all files in their folder, the database included."""


@dataclass(frozen=True)
class MaintenanceReport:
    """The results of maintenance, or a preview of them where nothing was to be changed."""

    dropped: bool
    runs: tuple[RunToDelete, ...]
    compact: tuple[CompactRun, ...]
    left: tuple[UntouchedRun, ...]
    tidied: Vacuumed | None
    """The database's size; None if nothing was to be changed."""
    bisections: KeptBisections | None = None


class _DeviceBusy(Exception):
    """A run is measuring on one of the devices."""


@dataclass(frozen=True)
class Maintenance:
    """One maintenance of one results folder and its database."""

    results: Path
    database: Path

    def drop(self, runs: Sequence[RunToDelete]) -> Iterator[RunToDelete | UntouchedRun]:
        """Delete these runs from database and folder; yields the deleted and the other ones."""
        groups: dict[frozenset[str], list[RunToDelete]] = defaultdict(list)
        for run in runs:
            groups[_devices(run.path)].append(run)
        for devices, group in groups.items():
            try:
                with hold_devices(devices, _HOLDER, _refuse):
                    self._drop(group)
            except _DeviceBusy as busy:
                yield from (UntouchedRun(run.run_id, str(busy)) for run in group)
            else:
                yield from group

    def _drop(self, runs: Sequence[RunToDelete]) -> None:
        # No merge may find the records between the two.
        with writer_lock(self.database):
            drop_runs(self.database, [run.run_id for run in runs])
            paths = (run.path or take_out(self.results, run.run_id) for run in runs)
            hidden = [_hide(path) for path in paths if path is not None]
        for path in hidden:
            _delete(path)

    def compact(
        self, leave: Sequence[RunToDelete], *, dry_run: bool
    ) -> Iterator[CompactRun | UntouchedRun]:
        """Compact the records of imports, and of all finished runs but these."""
        spared = {run.run_id for run in leave}
        for path in run_folders(self.results):
            if path.name in spared:
                continue
            try:
                with hold_devices(_devices(path), _HOLDER, _refuse):
                    compaction = self._compact(path, dry_run=dry_run)
            except (_DeviceBusy, DamagedFile) as reason:
                yield UntouchedRun(path.name, str(reason))
            else:
                yield from [CompactRun(path.name, compaction)] if compaction else []
        with self._locked(dry_run=dry_run):
            packed = pack(self.results, dry_run=dry_run)
        yield from [CompactRun("imports", packed)] if packed else []

    def _compact(self, path: Path, *, dry_run: bool) -> Compaction | None:
        try:
            folder = RunFolder.open(path.parent, path.name)
        except StoreError as error:
            raise DamagedFile(str(error)) from error
        planned = [cell.id for cell in folder.cells]
        with self._locked(dry_run=dry_run):
            return compact(folder.records, folder.run.run_id, planned, dry_run=dry_run)

    def _locked(self, *, dry_run: bool) -> AbstractContextManager[None]:
        """Keep merges out, which may look for files that go."""
        return nullcontext() if dry_run else writer_lock(self.database)


def maintain_results(
    results: Path,
    database: Path,
    policy: RetentionPolicy = NOTHING,
    *,
    compacting: bool = False,
    dry_run: bool = False,
) -> MaintenanceReport:
    """Delete runs, compact files, give back free space; one process at a time in a folder."""
    folder, works = bisections_folder(results), [Maintenance(results, database)]
    if folder:
        works.append(Maintenance(folder, folder / DATABASE_NAME))
    runs, vacuumed = runs_to_delete(results, database, policy), None
    done: list[RunToDelete | CompactRun | UntouchedRun] = []
    with nullcontext() if dry_run else _alone(results):
        if dry_run:
            done += runs
        else:
            for work in works:
                for path in work.results.glob(f".*{_DROPPED}"):  # of a killed maintenance
                    _delete(path)
                done += work.drop([run for run in runs if run.bisection == (work != works[0])])
        for work in works if compacting else ():
            done += work.compact(runs if dry_run else (), dry_run=dry_run)
        if not dry_run:
            vacuumed, *_ = [vacuum(work.database) for work in works]
    bisections = None
    if folder:
        bisections = KeptBisections(len(run_folders(folder)), tree_size(folder))
    return MaintenanceReport(
        dropped=bool(runs) and not dry_run,
        runs=tuple(item for item in done if isinstance(item, RunToDelete)),
        compact=tuple(item for item in done if isinstance(item, CompactRun)),
        left=tuple(item for item in done if isinstance(item, UntouchedRun)),
        tidied=vacuumed,
        bisections=bisections,
    )


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    lock = FileLock(results / f"{_HOLDER}.lock", timeout=0)
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise StoreError(
            f"{results}: another maintenance is under way", hint="wait for it to finish"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{results}: cannot be written: {error.strerror or error}", hint=file_hint(error)
        ) from error
    try:
        yield
    finally:
        lock.release()


def _devices(path: Path | None) -> frozenset[str]:
    if path is None or not (path / RUN_FILE).exists():
        return frozenset()
    try:
        return devices_of(RunFolder.open(path.parent, path.name))
    except StoreError:  # without its plan it cannot be resumed
        return frozenset()


def _refuse(device: str, holder: str) -> None:
    raise _DeviceBusy(f"device {device} is held by {holder}")


def _hide(path: Path) -> Path:
    """Rename a run to delete, so that half of it is not taken for a run."""
    with translate_os_errors(path, "cannot be removed", _DELETE_HINT):
        return path.rename(path.with_name(f".{path.name}{_DROPPED}"))


def _delete(path: Path) -> None:
    with translate_os_errors(path, "cannot be removed", _DELETE_HINT):
        delete_path(path)
