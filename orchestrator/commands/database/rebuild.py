"""A database made anew from files: from records by `rebuild`, from a snapshot by `restore`."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.commands.exchange.merge import merge_results
from orchestrator.running.run_file import run_folders
from orchestrator.store.database.connect import writer_lock
from orchestrator.store.health.rebuild import (
    Takeover,
    begin_rebuild,
    drop_rebuild,
    finish_rebuild,
    former_database,
    keep_unfiled,
)
from orchestrator.store.health.snapshots import Restored, restore_snapshot
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.kept import kept_files, run_ids_in
from orchestrator.store.store import Store
from orchestrator.system.files import IMPORTS_FOLDER, SNAPSHOTS_FOLDER
from orchestrator.system.git import own_commit
from runner.contract.errors import DamagedFile, NothingToDo


@dataclass(frozen=True)
class Rebuilt:
    """A database that was made anew."""

    merged: MergeReport
    takeover: Takeover

    @property
    def sound(self) -> MergeReport:
        """The merge without the cells that interrupted runs have not measured yet."""
        return replace(self.merged, missing=())


def rebuild_database(results: Path, database: Path, *, scratch: bool = False) -> Rebuilt:
    """Make a database anew from all record files, and replace the former one as a whole.

    Of the former one, rows without a file are kept in one, if it has this schema; else a copy stays
    if it holds more. It decides whether fake rows are welcome; `scratch` does where there is none.
    """
    path = database.resolve()
    if not (path.exists() or any(_filed_runs(results, path))):
        raise _nothing(results)
    with writer_lock(path):
        former = former_database(path)
        if former is not None and former.is_current:
            keep_unfiled(path, frozenset(_filed_runs(results, path)))
        scratch = former.scratch if former else scratch
        unfinished = begin_rebuild(path, scratch=scratch)
        try:
            with Store.open(unfinished, scratch=scratch) as store:
                merged = merge_results(results, path, store)
            if merged.is_empty:
                raise _nothing(results)
            return Rebuilt(merged, finish_rebuild(unfinished, path))
        finally:
            drop_rebuild(unfinished)


def _nothing(results: Path) -> NothingToDo:
    return NothingToDo(
        f"{results}: holds no record that the database could be made of",
        hint="name the folder of its runs with `--results`; nothing was changed",
    )


def restore_database(results: Path, database: Path, name: str) -> Restored:
    """Replace the database by a snapshot, and keep what it was as a snapshot of its own."""
    restored = restore_snapshot(database, results / SNAPSHOTS_FOLDER, name, own_commit())
    path = database.resolve()
    with writer_lock(path):
        keep_unfiled(path, frozenset(_filed_runs(results, path)))
    return restored


def _filed_runs(results: Path, database: Path) -> Iterator[str]:
    yield from (path.name for path in run_folders(results))
    imports = (results / IMPORTS_FOLDER).glob("[!.]*.parquet")
    for path in (*imports, *kept_files(database)):
        with suppress(DamagedFile):
            yield from run_ids_in(path)
