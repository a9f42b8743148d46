"""The sweep of a job's output folder, once nothing writes there any more.

What a job may leave are plain files of known names. Everything else goes into a folder of the run
to which jobs have no access and nobody but the owner has: nothing reads it, and a setuid file in
it, however deep, serves nobody. Links are renamed and never followed.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp

from orchestrator.running.folder import RunFolder
from orchestrator.running.record_files import DAMAGED_SUFFIX, DROPPED_SUFFIX
from orchestrator.store.records.validate import Damaged
from orchestrator.system.files import translate_os_errors
from runner.contract.files import plain_fault, unfinished_path
from runner.contract.rounds import output_names

REFUSED_FOLDER = "refused"
MOST_REFUSED = 1_000
"""Entries that are set aside one by one; if there are more, the folder is made anew."""
_NAMED = 3
_LETTERS = 60
_NAME_LETTERS = 100
_OWNER_ALONE = 0o700
_FILE_MODE, _MOST_MODE = 0o600, 0o755
_ODD = re.compile(r"[^A-Za-z0-9._-]")


def sweep_jobs(folder: RunFolder, job_ids: Iterable[str], note: Callable[[str], None]) -> None:
    """Sweep the output folders of these jobs; what was found is noted in one line for each."""
    for job_id in folder.jobs.keys() & set(job_ids):
        cells = folder.jobs[job_id]
        rounds = folder.run.plan.measure_of(cells[0]).most_rounds
        sweep = Sweep(folder.records / job_id, output_names(cells, rounds), folder.path)
        line = sweep.sweep()
        if line is not None:
            note(line)
        for cell in cells:
            path = folder.file_of(cell)
            if damaged := sweep.refused.get(path):
                folder.damaged[path] = damaged
            parts = map(sweep.refused.get, folder.rounds.paths(cell))
            if damaged := next(filter(None, parts), None):
                folder.rounds.damaged[cell.id] = damaged


@dataclass
class Sweep:
    """One sweep of one output folder."""

    out: Path
    names: Mapping[str, int]
    run: Path
    refused: dict[Path, Damaged] = field(default_factory=dict)
    """New path and reason of everything that was set aside, by the path that it had."""
    _aside: Path | None = None

    def sweep(self) -> str | None:
        """Set aside what does not belong there; returns a line for the user, if there was any."""
        if not self.out.is_dir():
            return None
        with translate_os_errors(self.out, "cannot be swept"):
            if self._sweep_entries():
                return self._note(str(len(self.refused)))
            self._make_anew()
            return self._note(f"more than {MOST_REFUSED}")

    def _sweep_entries(self) -> bool:
        most = MOST_REFUSED + 4 * len(self.names)
        with os.scandir(self.out) as listing:
            entries = [entry.name for entry in islice(listing, most + 1)]
        for name in entries[:most]:
            if len(self.refused) == MOST_REFUSED:
                return False
            path = self.out / name
            if fault := self._fault(path):
                self._set_aside(path, fault)
        return len(entries) <= most

    def _fault(self, path: Path) -> str | None:
        """The reason why a path must not stay; what may stay is tidied, unfinished files go."""
        most_bytes = self._most_bytes(path.name)
        if most_bytes is None:
            return "has no name that a job's file has"
        try:
            fault = plain_fault(path, most_bytes)
            if fault is None:
                _tidy(path)
        except FileNotFoundError:
            return None
        return fault

    def _most_bytes(self, name: str) -> int | None:
        """The most bytes of a file of that name; None if it may not have it."""
        for suffix in ("", DAMAGED_SUFFIX, DROPPED_SUFFIX):
            if name.endswith(suffix) and (size := self.names.get(name.removesuffix(suffix))):
                return size
        return None

    def _set_aside(self, path: Path, fault: str) -> None:
        if path.name in self._unfinished and not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        self._aside = self._aside or self._new_folder()
        safe = _ODD.sub("_", path.name)[:_NAME_LETTERS]
        target = self._aside / f"{len(self.refused):04}-{safe}.refused"
        _move(path, target)
        self.refused[path] = Damaged(target, fault)

    @property
    def _unfinished(self) -> frozenset[str]:
        return frozenset(unfinished_path(self.out / name).name for name in self.names)

    def _new_folder(self) -> Path:
        parent = self.run / REFUSED_FOLDER
        parent.mkdir(mode=_OWNER_ALONE, exist_ok=True)
        return Path(mkdtemp(prefix=f"{self.out.name[:_NAME_LETTERS]}.", dir=parent))

    def _make_anew(self) -> None:
        """Set the whole folder aside and take the files that may stay out of it again."""
        self._aside = self._aside or self._new_folder()
        flood = self._aside / "rest.refused"
        mode = stat.S_IMODE(self.out.stat().st_mode)
        _move(self.out, flood)
        self.out.mkdir()
        self.out.chmod(mode & _MOST_MODE)
        for name in self.names:
            for kept in (name, name + DAMAGED_SUFFIX, name + DROPPED_SUFFIX):
                with suppress(FileNotFoundError):
                    if self._fault(flood / kept) is None:
                        (flood / kept).rename(self.out / kept)

    def _note(self, count: str) -> str | None:
        if not self.refused:
            return None
        named = "; ".join(
            f"{_shown(path.name)} {damaged.reason}"
            for path, damaged in islice(self.refused.items(), _NAMED)
        )
        more = "; …" if len(self.refused) > _NAMED else ""
        return (
            f"{self.out.name}: set aside {count} of what it left in its output folder, in"
            f" {self._aside}: {named}{more}"
        )


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LETTERS else f"{name[:_LETTERS]}…")


def _tidy(path: Path) -> None:
    """Let the owner read and write it, and nobody else act as its owner or change it."""
    mode = stat.S_IMODE(path.lstat().st_mode)
    wanted = (mode | _FILE_MODE) & _MOST_MODE
    if mode != wanted:
        path.chmod(wanted)


def _move(path: Path, target: Path) -> None:
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode):
        path.chmod(_OWNER_ALONE)  # or the system refuses to move it elsewhere
    elif stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        path.chmod(_FILE_MODE)
    path.rename(target)
