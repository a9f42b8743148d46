"""Both sides of a comparison, opened: a database each, and the results in it that are meant."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.results.selection import Selection, Side
from analysis.results.series import AcceptedChange, accepted_changes
from analysis.results.sides import (
    hostnames,
    ids_of_results,
    runs_before,
    side_of_host,
    without_results,
)
from analysis.results.source import ArrowSource
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides.tables import is_record_file, is_table, read_table_file
from orchestrator.commands.results.sides.words import (
    ALLOWED,
    LastRun,
    Named,
    NamedHost,
    NamedRun,
    meaning_of,
)
from orchestrator.exchange.bundles.check import is_bundle
from orchestrator.exchange.bundles.foreign import is_database
from orchestrator.screen.words.records import record_words
from orchestrator.store.health.exported import write_exported
from orchestrator.store.health.snapshots import Snapshot, find_snapshot, list_snapshots
from orchestrator.store.query.results import RunSummary, newest_run
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME, SNAPSHOTS_FOLDER, translate_os_errors
from runner.contract.errors import NothingToDo, StoreError, UsageError

_TEMPORARY = "cannot be unpacked into the temporary folder"
_HINT = "free some space on its disk, or let `TMPDIR` name another folder"


_ONE_VALUE = (
    "{} holds one value a cell: a bundle, `orchestrator export --bundle`, holds its launches too"
)


@dataclass(frozen=True)
class PathResults:
    """The results at a path, as an open database."""

    store: Store
    lacks: str | None = None
    """The sentence that says what the path does not tell, and what would; None for records."""


@contextmanager
def results_at(path: Path, *, scratch: bool) -> Iterator[PathResults]:
    """The results of a bundle, a folder, a record file, a database or an exported table.

    Args:
        path: the file or the folder, of which nothing is changed.
        scratch: True if fake and synthetic rows are welcome.
    """
    if is_bundle(path) or is_database(path):
        opened, lacks = _store_of_records(path, scratch=scratch), None
    elif is_table(path):
        opened, lacks = _store_of_table(path, scratch=scratch), _ONE_VALUE.format(path.name)
    elif path.is_dir() or is_record_file(path):
        opened, lacks = _store_of_records(path, scratch=scratch), None
    else:
        raise UsageError(f"{path}: holds no results", hint=f"a side is {ALLOWED}")
    with opened as store:
        yield PathResults(store, lacks)


@contextmanager
def _store_of_records(path: Path, *, scratch: bool) -> Iterator[Store]:
    """A database of what a merge takes.

    What cannot be believed is refused as a whole, since a cell that is left out unseen would look
    like one that was never measured.
    """
    with _database(path) as database:
        report = merge_paths([path], database, scratch=scratch, untouched=True)
        refused = replace(report, missing=(), contradicted=())
        if not refused.is_complete:
            raise StoreError(
                f"{path}: {refused.faults}",
                hint="`orchestrator merge` into a new `--database` takes the rest; name that one",
            )
        if report.is_empty:
            raise NothingToDo(f"{path}: holds no record", hint=f"a side is {ALLOWED}")
        with Store.open_readonly(database) as store:
            yield store


@contextmanager
def _store_of_table(path: Path, *, scratch: bool) -> Iterator[Store]:
    """A database of a table that an export wrote."""
    rows = read_table_file(path)
    with _database(path) as database:
        write_exported(database, rows, path, record_words, scratch=scratch)
        with Store.open_readonly(database) as store:
            yield store


@contextmanager
def _database(path: Path) -> Iterator[Path]:
    """The path of a database that is there for a while."""
    with ExitStack() as closing:
        with translate_os_errors(path, _TEMPORARY, _HINT):
            folder = closing.enter_context(TemporaryDirectory(prefix="accelmatrix-"))
        yield Path(folder, DATABASE_NAME)


def run_back(runs: Sequence[RunSummary], back: int) -> str:
    """The id of the newest run, or of the one that is so many runs before it."""
    left = list(runs)
    newest = newest_run(left)
    for _ in range(back):
        if newest is not None:
            left.remove(newest)
            newest = newest_run(left)
    if newest is not None:
        return newest.run_id
    if not runs:
        raise UsageError(
            "'last' is no run: the database holds none yet",
            hint="measure some: `orchestrator bench --model bert-tiny --backend available`",
        )
    raise UsageError(
        f"last~{back}: the database holds {_count(len(runs))}", hint=_oldest(len(runs))
    )


def run_before(
    source: ArrowSource, selection: Selection, side: Side, back: int, *, per_host: bool
) -> str:
    """The id of the newest run before a side that shares a series with it, or of an older one.

    Args:
        source: the database whose runs are looked at.
        selection: the results in it that count; those of every run.
        side: the side whose series are looked for.
        back: the number of such runs to go back from the newest of them.
        per_host: True if machines with different names have series of their own.
    """
    runs = runs_before(source, selection, side, per_host=per_host)
    if not runs:
        raise NothingToDo(
            f"no run before {side.label} shares a series with it",
            hint="measure the same cells again, `orchestrator run`, or name a baseline: a series is"
            " of one cell with the same weights on the same hardware",
        )
    if back >= len(runs):
        raise UsageError(
            f"last~{back}: {_count(len(runs))} before {side.label} share a series with it",
            hint=_oldest(len(runs)),
        )
    return runs[back]


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs:,} runs"


def _oldest(runs: int) -> str:
    return "`last` is the only one" if runs == 1 else f"the oldest of them is `last~{runs - 1}`"


@dataclass(frozen=True)
class Sides:
    """Two sides, open for reading."""

    base: Side
    run: Side
    accepted: tuple[AcceptedChange, ...] = ()
    """Changes that somebody accepted in the database of either side."""


@contextmanager
def open_sides(
    selected: SelectionRequest, baseline: str, run: str, *, per_host: bool = False
) -> Iterator[Sides]:
    """Open both sides; filters hold for both. Nothing is written but to temporary databases.

    `words` tells what a side may be. `last` as the run is the newest one; as the baseline it is the
    newest before the run that shares a series with it.

    Args:
        selected: the database, and filters of the results.
        baseline: the word for the earlier side.
        run: the word for the later one.
        per_host: True if machines with different names have series of their own.
    """
    with ExitStack() as closing:
        opening = _Opening(replace(selected, run=None, every=False), closing)
        judged = meaning_of(run, opening)
        if isinstance(judged, LastRun):
            judged = NamedRun(run_back(opening.own.runs(), judged.back))
        later = opening.side(judged, run)
        earlier = meaning_of(baseline, opening)
        if isinstance(earlier, LastRun):
            back = earlier.back
            own, chosen = opening.own, opening.selection
            earlier = NamedRun(run_before(own, chosen, later, back, per_host=per_host))
        if earlier == judged:
            raise UsageError(
                f"both sides are {later.label}",
                hint="`orchestrator status` lists the runs there are",
            )
        if isinstance(earlier, NamedHost):
            base = opening.side_of_host(earlier.hostname, ids_of_results(later))
        else:
            base = opening.side(earlier, baseline)
        judged_side = _without_shared(base, later)
        sources = dict.fromkeys((base.source, judged_side.source))
        accepted = (change for source in sources for change in accepted_changes(source))
        yield Sides(base, judged_side, tuple(accepted))


def require_side(selected: SelectionRequest, word: str) -> None:
    """Insist that a word names a side, before hours are measured that shall be judged by it.

    `last` is whatever will be there by then.
    """
    with ExitStack() as closing:
        meaning_of(word, _Opening(selected, closing))


class _Opening:
    """Opens sides, and the database of the user as soon as a word asks for it."""

    def __init__(self, selected: SelectionRequest, closing: ExitStack) -> None:
        self._selected = selected
        self._closing = closing
        self._has_own = selected.database.exists()
        self._snapshots = selected.results_folder / SNAPSHOTS_FOLDER

    @cached_property
    def own(self) -> Store:
        """The database of the user."""
        return self._closing.enter_context(Store.open_readonly(self._selected.database))

    @cached_property
    def selection(self) -> Selection:
        """The selected results in it."""
        return self._selected.selection_in(self.own)

    @cached_property
    def runs(self) -> list[RunSummary]:
        """Its runs, the newest first; none without a database."""
        return self.own.runs() if self._has_own else []

    @cached_property
    def hostnames(self) -> list[str]:
        """The names of the hosts whose verdicts it holds; none without a database."""
        return hostnames(self.own) if self._has_own else []

    def snapshot(self, name: str) -> Snapshot | None:
        """The snapshot of that name; None if there is none."""
        try:
            return find_snapshot(self._snapshots, name) if name else None
        except UsageError:
            return None

    def snapshot_names(self) -> list[str]:
        """The names of all snapshots, the newest first."""
        known = list_snapshots(self._snapshots)
        return [name for one in known for name in (one.manifest.name, one.folder.name) if name]

    def side(self, meaning: Named, word: str) -> Side:
        """The results that are meant.

        Args:
            meaning: what the word means.
            word: the word, for the screen.
        """
        match meaning:
            case NamedRun(run_id):
                return Side(run_id, self.own, replace(self.selection, run_id=run_id))
            case NamedHost(hostname):
                return self.side_of_host(hostname)
            case Snapshot() as snapshot:
                return self._of_snapshot(snapshot, word)
            case Path() as path:
                if self._has_own and path.samefile(self._selected.database):
                    raise UsageError(
                        f"{word}: is the database whose runs are compared",
                        hint="name one of its runs, `last`, or a snapshot of it",
                    )
                return self._of_path(Path(word), word)

    def side_of_host(self, hostname: str, without: Iterable[str] = ()) -> Side:
        """The newest results of a host, but for those of these ids."""
        return side_of_host(self.own, self.selection, hostname, without)

    def _of_snapshot(self, snapshot: Snapshot, word: str) -> Side:
        store = self._closing.enter_context(Store.open_readonly(snapshot.database))
        return Side(word, store, self._selection_in(store, word))

    def _of_path(self, path: Path, word: str) -> Side:

        opened = self._closing.enter_context(results_at(path, scratch=self._scratch))
        return Side(word, opened.store, self._selection_in(opened.store, word), opened.lacks)

    def _selection_in(self, store: Store, word: str) -> Selection:
        """The selected results of a database that is not the user's."""
        try:
            return self._selected.selection_in(store)
        except UsageError as error:
            raise UsageError(f"{word}: {error}", hint="filters hold for both sides") from error

    @property
    def _scratch(self) -> bool:
        """True if the user's database is one that takes fake and synthetic rows."""
        return self._has_own and self.own.scratch


def _without_shared(base: Side, run: Side) -> Side:
    """The later side without the very results that the earlier one holds."""
    if base.selection.run_id is not None and run.selection.run_id is not None:
        return run  # two runs share none
    results = ids_of_results(run)
    shared = results & ids_of_results(base)
    if shared and shared == results:
        raise UsageError(
            f"{base.label} holds the very results of {run.label}",
            hint="compare with what was measured before: `last`, a run's id, or a snapshot",
        )
    return without_results(run, shared) if shared else run
