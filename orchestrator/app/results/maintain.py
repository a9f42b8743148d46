"""Maintenance of a results folder: drops runs, compacts record files, tidies the database."""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.app.results.retention import Doomed, Wanted, choose, run_folders
from orchestrator.running.execution import devices_of
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RUN_FILE
from orchestrator.store import Compaction, NotCompact, Tidied, compact, drop_runs, tidy, writer_lock
from orchestrator.system.files import translate_os_errors
from orchestrator.system.locks import hold_devices
from runner.contract.errors import StoreError

DROPPED = ".dropped"
HOLDER = "maintenance"
GONE = "remove it yourself; the database holds it no more"


@dataclass(frozen=True)
class CompactRun:
    """A run whose record files became few."""

    run_id: str
    compaction: Compaction


@dataclass(frozen=True)
class Left:
    """A run that was left as it is."""

    run_id: str
    reason: str


@dataclass(frozen=True)
class Maintained:
    """What maintenance did; where it was not to change anything, what it would do."""

    doomed: tuple[Doomed, ...]
    """The runs that went, or would go."""
    compact: tuple[CompactRun, ...]
    left: tuple[Left, ...]
    tidied: Tidied | None
    """None if nothing was to be changed."""


class _Busy(Exception):
    """A run is measuring on one of the devices."""


@dataclass(frozen=True)
class Maintenance:
    """One maintenance of one results folder and its database."""

    results: Path
    database: Path

    def drop(self, runs: Sequence[Doomed]) -> tuple[list[Doomed], list[Left]]:
        """Remove these runs from database and folder; returns those that went, and the others.

        Raises:
            StoreError: the database cannot be written, or a folder cannot be removed.
        """
        gone: list[Doomed] = []
        left: list[Left] = []
        groups: dict[frozenset[str], list[Doomed]] = defaultdict(list)
        for run in runs:
            groups[_devices(run.path)].append(run)
        for devices, group in groups.items():
            try:
                with _resting(devices):
                    self._drop(group)
                gone += group
            except _Busy as busy:
                left += [Left(run.run_id, str(busy)) for run in group]
        return gone, left

    def _drop(self, runs: Sequence[Doomed]) -> None:
        # No merge may find the records between the two.
        with writer_lock(self.database):
            drop_runs(self.database, [run.run_id for run in runs])
            hidden = [_hide(run.path) for run in runs if run.path is not None]
        for path in hidden:
            _delete(path)

    def compact(
        self, leave: Sequence[Doomed], *, dry_run: bool
    ) -> tuple[list[CompactRun], list[Left]]:
        """Compact the records of each finished run but those; returns what became of them.

        Raises:
            StoreError: the file system refuses.
        """
        done, left = [], []
        spared = {run.run_id for run in leave}
        for path in run_folders(self.results):
            if path.name in spared:
                continue
            try:
                with _resting(_devices(path)):
                    made = self._compact(path, dry_run=dry_run)
            except (_Busy, NotCompact) as reason:
                left.append(Left(path.name, str(reason)))
            else:
                done += [CompactRun(path.name, made)] if made else []
        return done, left

    def _compact(self, path: Path, *, dry_run: bool) -> Compaction | None:
        try:
            folder = RunFolder.open(path.parent, path.name)
        except StoreError as error:
            raise NotCompact(str(error)) from error
        planned = [cell.id for cell in folder.cells]
        # No merge may look for files that go.
        with nullcontext() if dry_run else writer_lock(self.database):
            return compact(folder.records, folder.run.run_id, planned, dry_run=dry_run)

    def sweep(self) -> None:
        """Finish what a killed maintenance has begun to remove."""
        for path in self.results.glob(f".*{DROPPED}"):
            _delete(path)


def maintain(
    results: Path,
    database: Path,
    wanted: Wanted,
    *,
    compacting: bool = False,
    dropping: bool = False,
    dry_run: bool = False,
) -> Maintained:
    """Do what is wanted, one maintenance at a time; runs go only if `dropping`.

    Raises:
        UsageError: a run that is named is unknown.
        StoreError: database or folder cannot be read or written.
    """
    work = Maintenance(results, database)
    doomed = choose(results, database, wanted)
    if dry_run:
        compacted, left = work.compact(doomed, dry_run=True) if compacting else ([], [])
        return Maintained(tuple(doomed), tuple(compacted), tuple(left), None)
    with _alone(results):
        work.sweep()
        left = []
        if dropping:
            doomed, left = work.drop(doomed)
        compacted, others = work.compact((), dry_run=False) if compacting else ([], [])
        tidied = tidy(database)
    return Maintained(tuple(doomed), tuple(compacted), (*left, *others), tidied)


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """One maintenance of a folder at a time.

    Raises:
        StoreError: another one is under way, or nothing can be written here.
    """
    lock = FileLock(results / f"{HOLDER}.lock", timeout=0)
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise StoreError(
            f"{results}: another maintenance is under way", hint="wait for it to finish"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{results}: cannot be written: {error.strerror or error}", hint="let its owner do it"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _resting(devices: frozenset[str]) -> Iterator[None]:
    """Keep runs that want these devices from going on.

    Raises:
        _Busy: one is measuring.
    """
    with hold_devices(devices, HOLDER, _refuse):
        yield


def _devices(path: Path | None) -> frozenset[str]:
    """What the run would occupy if it went on; none if it cannot."""
    if path is None or not (path / RUN_FILE).exists():
        return frozenset()
    try:
        return devices_of(RunFolder.open(path.parent, path.name))
    except StoreError:  # without its plan it cannot be resumed
        return frozenset()


def _refuse(device: str, holder: str) -> None:
    raise _Busy(f"device {device} is held by {holder}")


def _hide(path: Path) -> Path:
    """Rename what shall go, so that half a run is taken for none."""
    with translate_os_errors(path, "cannot be removed", GONE):
        return path.rename(path.with_name(f".{path.name}{DROPPED}"))


def _delete(path: Path) -> None:
    with translate_os_errors(path, "cannot be removed", GONE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
