"""Maintenance of a results folder: drop runs, compact record files, vacuum the database."""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.commands.database.retention import (
    NOTHING,
    RetentionPolicy,
    RunToDelete,
    bisections_folder,
    runs_to_delete,
)
from orchestrator.exchange.imports.record import pack, take_out
from orchestrator.running.execution import devices_of
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RUN_FILE, run_folders
from orchestrator.store.database.lock import writer_lock
from orchestrator.store.health.drop_runs import drop_runs
from orchestrator.store.health.vacuum import Vacuumed, vacuum
from orchestrator.store.records.compact import Compaction, compact
from orchestrator.system.files import DATABASE_NAME, file_hint, translate_os_errors
from orchestrator.system.locks import hold_devices
from orchestrator.system.trees import remove_tree, tree_size
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
    """True if the runs were deleted, false if they are only listed."""
    runs: tuple[RunToDelete, ...]
    """The runs that were or would be deleted."""
    compact: tuple[CompactRun, ...]
    left: tuple[UntouchedRun, ...]
    tidied: Vacuumed | None
    """The database's size; None if nothing was to be changed."""
    bisections: KeptBisections | None = None
    """The folder of bisections afterwards; None if there is none."""


class _DeviceBusy(Exception):
    """A run is measuring on one of the devices."""


@dataclass(frozen=True)
class Maintenance:
    """One maintenance of one results folder and its database."""

    results: Path
    database: Path

    def drop(self, runs: Sequence[RunToDelete]) -> tuple[list[RunToDelete], list[UntouchedRun]]:
        """Delete these runs from database and folder; returns the deleted ones, and the others."""
        deleted: list[RunToDelete] = []
        left: list[UntouchedRun] = []
        groups: dict[frozenset[str], list[RunToDelete]] = defaultdict(list)
        for run in runs:
            groups[_devices(run.path)].append(run)
        for devices, group in groups.items():
            try:
                with _held(devices):
                    self._drop(group)
                deleted += group
            except _DeviceBusy as busy:
                left += [UntouchedRun(run.run_id, str(busy)) for run in group]
        return deleted, left

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
    ) -> tuple[list[CompactRun], list[UntouchedRun]]:
        """Compact the records of all finished runs but these; returns compacted and other runs."""
        done, left = [], []
        spared = {run.run_id for run in leave}
        for path in run_folders(self.results):
            if path.name in spared:
                continue
            try:
                with _held(_devices(path)):
                    compaction = self._compact(path, dry_run=dry_run)
            except (_DeviceBusy, DamagedFile) as reason:
                left.append(UntouchedRun(path.name, str(reason)))
            else:
                done += [CompactRun(path.name, compaction)] if compaction else []
        return done, left

    def _compact(self, path: Path, *, dry_run: bool) -> Compaction | None:
        try:
            folder = RunFolder.open(path.parent, path.name)
        except StoreError as error:
            raise DamagedFile(str(error)) from error
        planned = [cell.id for cell in folder.cells]
        # No merge may look for files that go.
        with nullcontext() if dry_run else writer_lock(self.database):
            return compact(folder.records, folder.run.run_id, planned, dry_run=dry_run)

    def pack(self, *, dry_run: bool) -> list[CompactRun]:
        """Pack the records of imports together."""
        # No merge may look for files that go.
        with nullcontext() if dry_run else writer_lock(self.database):
            compaction = pack(self.results, dry_run=dry_run)
        return [CompactRun("imports", compaction)] if compaction else []

    def sweep(self) -> None:
        """Finish the deletions of a killed maintenance."""
        for path in self.results.glob(f".*{_DROPPED}"):
            _delete(path)


def maintain_results(
    results: Path,
    database: Path,
    policy: RetentionPolicy = NOTHING,
    *,
    compacting: bool = False,
    dry_run: bool = False,
) -> MaintenanceReport:
    """Delete runs, compact files, give back free space; one process at a time in a folder."""
    works = _works(results, database)
    runs = runs_to_delete(results, database, policy)
    if dry_run:
        compacted, left = _compacted(works, runs, dry_run=True) if compacting else ([], [])
        return MaintenanceReport(
            False, tuple(runs), tuple(compacted), tuple(left), None, _bisections(results)
        )
    with _alone(results):
        left = []
        deleted: list[RunToDelete] = []
        for bisection, work in enumerate(works):
            work.sweep()
            if runs:
                done, others = work.drop([run for run in runs if run.bisection == bool(bisection)])
                deleted += done
                left += others
        compacted, others = _compacted(works, (), dry_run=False) if compacting else ([], [])
        vacuumed, *_ = [vacuum(work.database) for work in works]
    return MaintenanceReport(
        bool(runs),
        tuple(deleted),
        tuple(compacted),
        (*left, *others),
        vacuumed,
        _bisections(results),
    )


def _works(results: Path, database: Path) -> list[Maintenance]:
    """The maintenance of the results, and that of bisections where there were any."""
    bisections = bisections_folder(results)
    others = [Maintenance(bisections, bisections / DATABASE_NAME)] if bisections else []
    return [Maintenance(results, database), *others]


def _compacted(
    works: Sequence[Maintenance], leave: Sequence[RunToDelete], *, dry_run: bool
) -> tuple[list[CompactRun], list[UntouchedRun]]:
    compacted: list[CompactRun] = []
    left: list[UntouchedRun] = []
    for work in works:
        done, others = work.compact(leave, dry_run=dry_run)
        compacted += [*done, *work.pack(dry_run=dry_run)]
        left += others
    return compacted, left


def _bisections(results: Path) -> KeptBisections | None:
    folder = bisections_folder(results)
    return KeptBisections(len(run_folders(folder)), tree_size(folder)) if folder else None


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """One maintenance of a folder at a time."""
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


@contextmanager
def _held(devices: frozenset[str]) -> Iterator[None]:
    """Hold these devices, so that no run on them goes on."""
    with hold_devices(devices, _HOLDER, _refuse):
        yield


def _devices(path: Path | None) -> frozenset[str]:
    """Devices that the run would occupy if it went on; none if it cannot."""
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
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)  # whose depth a job may have chosen
            if path.exists():
                shutil.rmtree(path)
        else:
            path.unlink()
