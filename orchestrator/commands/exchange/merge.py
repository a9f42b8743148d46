"""Merging what files hold, and what a merge says of it."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from orchestrator.exchange.bundles.check import Bundle, is_bundle, merge_bundle, open_bundle
from orchestrator.exchange.bundles.foreign import is_database, open_database
from orchestrator.exchange.imports.record import read_runs
from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER
from orchestrator.running.artifacts.references import REFERENCES_FOLDER
from orchestrator.running.artifacts.work_counts import COUNTS_FOLDER
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import (
    merge_folder,
    merge_untouched,
    merge_without_plan,
    openable_files,
)
from orchestrator.running.run_file import (
    BISECTIONS_FOLDER,
    PREPARATIONS_FOLDER,
    RUN_FILE,
    read_run_file,
    run_folders,
)
from orchestrator.screen.lines import own_name, print_command, print_json, print_line
from orchestrator.screen.words.records import record_words
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.query.whole_runs import undescribed_runs
from orchestrator.store.records.find import find_files
from orchestrator.store.records.kept import kept_files, kept_folder
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from orchestrator.system.files import IMPORTS_FOLDER, database_option
from orchestrator.system.text import escape_control_line, plural
from runner.contract.errors import DamagedFile, UsageError
from runner.contract.files import STREAM_BYTES

_ARTIFACTS = {
    *(GRAPHS_FOLDER, REFERENCES_FOLDER, COUNTS_FOLDER),
    *(PREPARATIONS_FOLDER, BISECTIONS_FOLDER),
}
"""Folders beside the runs, to which jobs write no records of theirs."""
_NAMED = 5


def merge_paths(
    paths: Iterable[Path], database: Path, *, scratch: bool, untouched: bool = False
) -> MergeReport:
    """Merge run folders, folders of them, bare folders of records, records, bundles and databases.

    All paths are checked before anything is merged. Only run folders beside the database may
    replace measurements of ours. `untouched`: nothing is renamed or written in folders of runs.
    """
    named, total = list(paths), MergeReport()
    for path in named:
        if not os.path.lexists(path):
            hint = "name results folders, record files, bundles, or databases; nothing was merged"
            raise UsageError(f"{path}: no such file or folder", hint=hint)
    with ExitStack() as closing:
        bundles = {
            path: closing.enter_context(opened)
            for path in named
            if (opened := _as_bundle(path, database)) is not None
        }
        for bundle in bundles.values():
            bundle.require_sound()
        store = closing.enter_context(Store.open(database, scratch=scratch))
        for path in named:
            total += (
                merge_bundle(bundles[path], store, keep=not untouched)
                if path in bundles
                else _merge_below(path, store, untouched=untouched)
            )
    return total


def _as_bundle(path: Path, database: Path) -> AbstractContextManager[Bundle] | None:
    """A bundle or a database of others, which is opened by entering it; None for anything else."""
    if is_bundle(path):
        return open_bundle(path)
    if not is_database(path):
        return None
    if database.exists() and path.samefile(database):
        raise UsageError(
            f"{path}: is the database that is merged into",
            hint="name another one with `--database`; nothing was merged",
        )
    return open_database(path)


def merge_results(results: Path, database: Path, store: Store) -> MergeReport:
    """Merge all that files tell of a database into an empty store: runs, imports, kept records."""
    total = MergeReport()
    for path in run_folders(results):
        total += _merge_run_folder(path, store, is_beside=True)
    imports = sorted((results / IMPORTS_FOLDER).glob("[!.]*.parquet"))
    for files in ([imports], [[file] for file in kept_files(database)]):
        for some in filter(None, files):
            total += store.merge(some, *_described_in(some, store), words=record_words)
    return total


def _merge_below(path: Path, store: Store, *, untouched: bool) -> MergeReport:
    if not path.is_dir():
        return _merge_loose(find_files([path]), store, untouched=untouched)
    runs, loose = _survey(path.resolve())  # so that `.` has a name
    total, home = MergeReport(), store.path.resolve().parent
    for run in runs:
        total += _merge_run_folder(run, store, is_beside=run.parent == home, untouched=untouched)
    plain, faults = openable_files(loose, STREAM_BYTES)
    strange = tuple(Damaged(file, reason) for file, reason in faults.items())
    return total + _merge_loose(plain, store, untouched=untouched) + MergeReport(damaged=strange)


def _merge_run_folder(
    path: Path, store: Store, *, is_beside: bool, untouched: bool = False
) -> MergeReport:
    try:
        run = read_run_file(path / RUN_FILE)
    except DamagedFile as damaged:
        unreadable = MergeReport(damaged=(Damaged(path / RUN_FILE, str(damaged)),))
        return merge_without_plan(path, store, keep=not (is_beside or untouched)) + unreadable
    if untouched:
        return merge_untouched(RunFolder(path, run), store)
    is_here = is_beside and path.name == run.run_id
    return merge_folder(RunFolder(path, run), store, elsewhere=not is_here)


def _merge_loose(files: Sequence[Path], store: Store, *, untouched: bool) -> MergeReport:
    """Merge files of no run folder; those that a rebuild finds where they are need no copy."""
    filed = {store.path.resolve().parent / IMPORTS_FOLDER, kept_folder(store.path)}
    total = MergeReport()
    for keep in (False, True):
        some = [file for file in files if keep is (file.resolve().parent not in filed)]
        if some:
            runs = _described_in(some, store)
            total += store.merge(
                some, *runs, words=record_words, elsewhere=True, keep=keep and not untouched
            )
    return total


def _described_in(files: Sequence[Path], store: Store) -> list[Run]:
    """The runs of which the database knows less than these files, most of which describe none."""
    runs = read_runs(files)
    return undescribed_runs(runs, store.described_runs()) if runs else []


def _survey(folder: Path) -> tuple[list[Path], list[Path]]:
    """The run folders below, and the record files of none of them; artifacts hold no records."""
    runs, loose = list[Path](), list[Path]()
    for parent, folders, names in os.walk(folder):
        if RUN_FILE in names:
            runs.append(Path(parent))
            folders.clear()
            continue
        folders[:] = (name for name in folders if not name.startswith("."))
        has_runs = any(os.path.lexists(Path(parent, name, RUN_FILE)) for name in folders)
        if has_runs or PREPARATIONS_FOLDER in folders:
            folders[:] = (name for name in folders if name not in _ARTIFACTS)
        records = (name for name in names if name.endswith(".parquet"))
        loose += (Path(parent, name) for name in records if not name.startswith("."))
    return sorted(runs), sorted(loose)


def print_merged(report: MergeReport, database: Path, *, as_json: bool) -> None:
    """Print how many records were new, newer or known; as JSON with those left out."""
    if as_json:
        print_json(merged_data(report, database))
        return
    for line in _merged_lines(report, database):
        print_line(line)
    if report.hosts:
        print_line("next:")
        option = database_option(database)
        print_command(shlex.join([own_name(), "query", "latest_results", *option]))


def merged_data(report: MergeReport, database: Path) -> dict[str, object]:
    damaged = [{"file": file.path, "reason": file.reason} for file in report.damaged]
    left = {"damaged": damaged, "refused": report.refused, "contradicted": report.contradicted}
    return {**_counts(report), **left, "hosts": _by_host(report), "database": database}


def _counts(report: MergeReport) -> dict[str, int]:
    return {
        "inserted": report.inserted,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        **({"in quarantine": report.quarantined} if report.quarantined else {}),
    }


def _merged_lines(report: MergeReport, database: Path) -> Iterator[str]:
    summary = ", ".join(f"{count:,} {word}" for word, count in _counts(report).items())
    if report.is_empty:
        yield f"{summary}: nothing was merged into {database}"
        return
    yield summary
    hosts = _by_host(report)
    if not hosts:
        yield f"database: {database} had all of them"
        return
    names = [
        f"{count:,} {plural(count, 'record')} from {escape_control_line(name)}"
        for name, count in hosts.items()
    ]
    more = f" and {len(names) - _NAMED} more hosts" if len(names) > _NAMED else ""
    yield f"{', '.join(names[:_NAMED])}{more} into {database}"


def _by_host(report: MergeReport) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for name, count in report.hosts:
        counts[name] += count
    return dict(counts.most_common())
