"""Results of a job's other cells, kept through a launch that has no business with them.

All launches of a job write into one folder, and a resumed run may launch another image: what an
earlier one measured is put back if a launch changed or removed it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.running.folder import RunFolder
from orchestrator.running.record_files import set_aside
from orchestrator.system.files import translate_os_errors
from orchestrator.system.trees import remove_entry
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile
from runner.contract.files import write_atomic
from runner.contract.job import Job
from runner.contract.plain_files import RECORD_BYTES, read_plain
from runner.contract.rounds import round_path


@contextmanager
def keep_records(folder: RunFolder, job: Job, note: Callable[[str], None]) -> Iterator[None]:
    """Put back the records, and results of rounds, of the job's cells that this launch lacks."""
    others = [cell for cell in folder.jobs.get(job.id, ()) if cell not in set(job.cells)]
    before = {path: _content(path) for cell in others for path in _results(folder, cell)}
    try:
        yield
    finally:
        changed = [path for path, content in before.items() if _content(path) != content]
        for path in changed:
            with translate_os_errors(path):
                _put_back(path, before[path])
            note(f"{path.name}: was changed by a launch without its cell, and put back")


def _results(folder: RunFolder, cell: Cell) -> Iterator[Path]:
    record = folder.file_of(cell)
    rounds = folder.run.plan.measure[cell.backend].most_rounds
    yield record
    yield from (round_path(record.parent, cell, number) for number in range(1, rounds + 1))


def _put_back(path: Path, content: bytes | None) -> None:
    if set_aside(path) is None:
        remove_entry(path)
    if content is not None:
        write_atomic(path, content)


def _content(path: Path) -> bytes | None:
    """The bytes of a file; None if there is none, or none that may be read."""
    try:
        return read_plain(path, RECORD_BYTES)
    except (OSError, DamagedFile):
        return None
