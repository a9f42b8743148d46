"""Sides of a comparison: what a word for one means, and both sides opened for reading.

A word is, in this order: `last` or `last~2`; a run's id; a snapshot's name; the path of what is
there; a host's name. One with a slash is a path alone.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from analysis.results.selection import (
    Selection,
    Side,
    hostnames,
    runs_sharing,
    side_of_host,
    under_same_names,
)
from analysis.results.series import AcceptedChange, accepted_changes
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.side_files import ALLOWED, results_at
from orchestrator.store.health.snapshots import Snapshot, find_snapshot, list_snapshots
from orchestrator.store.query.runs import newest_first, run_back, steps_back
from orchestrator.store.store import Store
from orchestrator.system.files import SNAPSHOTS_FOLDER
from runner.contract.errors import NothingToDo, UsageError, closest

_NEWEST = 3
_GUESSES = 3
_LETTERS = 80
_LONGEST_NAME = 255
"""Bytes of the longest name of a file."""
_SIBLINGS = 1_000
"""Files of a folder among which a similar name is looked for."""
_ENDINGS = (".zip", ".csv", ".json", ".parquet", ".duckdb")


@dataclass(frozen=True)
class NamedRun:
    """A run of the database."""

    run_id: str


@dataclass(frozen=True)
class NamedHost:
    """The newest results of a host."""

    hostname: str


Named: TypeAlias = NamedRun | Snapshot | Path | NamedHost
"""Meanings of words that stand for themselves; a path is resolved."""


@dataclass(frozen=True)
class Sides:
    """Two sides, open for reading."""

    base: Side
    run: Side
    accepted: tuple[AcceptedChange, ...] = ()
    """Changes that somebody accepted in the database of either side."""


@contextmanager
def open_sides(
    selected: SelectionRequest,
    baseline: str,
    run: str,
    *,
    per_host: bool = False,
    by_name: bool = False,
) -> Iterator[Sides]:
    """Open both sides; filters hold for both.

    `last~1` is what it is everywhere, counted among the runs that can answer: those with results,
    as the baseline those that share a series with the other side. A run is never its own baseline:
    where `last` would be that, it is the run before. With `by_name` the model of
    a series may be another one of the same name.
    """
    with ExitStack() as closing:
        opening = _Opening(replace(selected, run=None, every=False), closing)
        judged = opening.meaning_of(run)
        later = opening.side(judged, run)
        if steps_back(baseline) is None:
            earlier = opening.meaning_of(baseline)
        else:
            earlier = opening.last_before(
                *(baseline, run, judged, later), per_host=per_host, by_name=by_name
            )
        if earlier == judged:
            raise UsageError(
                f"both sides are {later.label}",
                hint="`orchestrator status` lists the runs there are",
            )
        if isinstance(earlier, NamedHost):
            base = opening.side_of_host(earlier.hostname, later.result_ids)
        else:
            base = opening.side(earlier, baseline)
        base, judged_side = under_same_names(base, _without_shared(base, later))
        sources = dict.fromkeys((base.source, judged_side.source))
        accepted = (change for source in sources for change in accepted_changes(source))
        yield Sides(base, judged_side, tuple(accepted))


def require_side(selected: SelectionRequest, word: str) -> None:
    """Insist that a word names a side, before hours are measured that shall be judged by it."""
    with ExitStack() as closing:
        if steps_back(word) is None:
            _Opening(selected, closing).meaning_of(word)


def _without_shared(base: Side, run: Side) -> Side:
    """The later side without the very results that the earlier one holds."""
    if base.selection.run_id is not None and run.selection.run_id is not None:
        return run  # two runs share none
    results = run.result_ids
    shared = results & base.result_ids
    if shared and shared == results:
        raise UsageError(
            f"{base.label} holds the very results of {run.label}",
            hint="compare with what was measured before: `last`, a run's id, or a snapshot",
        )
    return replace(run, selection=run.selection.without(shared))


class _Opening:
    """Opens sides, and the database of the user as soon as a word asks for it."""

    def __init__(self, selected: SelectionRequest, closing: ExitStack) -> None:
        self._selected = selected
        self._closing = closing
        self._has_own = selected.database.exists()
        self._snapshots = selected.results_folder / SNAPSHOTS_FOLDER

    @cached_property
    def own(self) -> Store:
        return self._closing.enter_context(Store.open_readonly(self._selected.database))

    @cached_property
    def selection(self) -> Selection:
        return self._selected.selection_in(self.own)

    @cached_property
    def _run_ids(self) -> list[str]:
        """Its runs, the newest first; none without a database."""
        return [run.run_id for run in self.own.runs()] if self._has_own else []

    @cached_property
    def _hostnames(self) -> list[str]:
        return hostnames(self.own) if self._has_own else []

    def meaning_of(self, word: str) -> Named:
        if steps_back(word) is not None:
            if not self.own.runs():
                raise UsageError(
                    f"{word!r} is no run: the database holds none yet",
                    hint="measure some: `orchestrator bench --model bert-tiny --backend available`",
                )
            return NamedRun(self._selected.run_of_times(word, self.own, self.selection))
        is_path = os.sep in word or word in {".", ".."} or len(os.fsencode(word)) > _LONGEST_NAME
        if not is_path:
            if word in self._run_ids:
                return NamedRun(word)
            if (snapshot := self._snapshot(word)) is not None:
                return snapshot
        if word and os.path.exists(word):  # noqa: PTH110 - a Path raises for names that are too long
            return Path(word).resolve()
        if not is_path and word in self._hostnames:
            return NamedHost(word)
        raise self._unknown(word)

    def last_before(
        self, word: str, run: str, judged: Named, later: Side, *, per_host: bool, by_name: bool
    ) -> NamedRun:
        """The baseline that `last~N` means beside a run, which counts too and is never it."""
        able = runs_sharing(*(self.own, self.selection, later), per_host=per_host, by_name=by_name)
        own, back = getattr(judged, "run_id", None), steps_back(word) or 0
        ids = [name for name in newest_first(self.own.runs()) if name in {own, *able}]
        words = f" share a series with {later.label}"
        if own is not None:
            # Where RUN is `last~1`, `last~2` is the one before it, whatever is newer.
            at, counted = ids.index(own), steps_back(run)
            back += 0 if counted is None else at - counted
            if back >= at:
                ids, back = ids[at + 1 :], max(back - at - 1, 0)
                words = f" before {later.label} share a series with it"
        if not ids:
            raise NothingToDo(
                f"no run before {later.label} shares a series with it",
                hint="measure the same cells again, `orchestrator run`, or name a baseline: a"
                " series is of one cell with the same weights on the same hardware",
            )
        return NamedRun(run_back(word, ids, back, behind=words))

    def _snapshot(self, name: str) -> Snapshot | None:
        try:
            return find_snapshot(self._snapshots, name) if name else None
        except UsageError:
            return None

    def _unknown(self, word: str) -> UsageError:
        shown = word if len(word) <= _LETTERS else f"{word[:_LETTERS]}…"
        is_like_path = os.sep in word or word.lower().endswith(_ENDINGS)
        known = _siblings(word) if is_like_path else [*self._names(), *_siblings(word)]
        near = closest(word, dict.fromkeys(name for name in known if name != word), _GUESSES)
        runs = self._run_ids[:_NEWEST]
        newest = f"the newest {'run is' if len(runs) == 1 else 'runs are'} {', '.join(runs)}"
        if os.path.lexists(word):
            message = f"{shown!r}: is a link that leads nowhere"
        elif is_like_path:
            message = f"{shown!r}: there is no such file or folder"
        else:
            message = f"{shown!r} is no run, snapshot, file or host"
        return UsageError(
            message + (f"; did you mean {' or '.join(near)}?" if near else ""),
            hint=f"a side is {ALLOWED}; {newest if runs else 'there is no run yet'}",
        )

    def _names(self) -> Iterator[str]:
        yield "last"
        yield from self._run_ids
        for snapshot in list_snapshots(self._snapshots):
            yield from filter(None, (snapshot.manifest.name, snapshot.folder.name))
        yield from self._hostnames

    def side(self, meaning: Named, word: str) -> Side:
        """The results that are meant; the word is their name on the screen."""
        match meaning:
            case NamedRun(run_id):
                return Side(run_id, self.own, replace(self.selection, run_id=run_id))
            case NamedHost(hostname):
                return self.side_of_host(hostname)
            case Snapshot() as snapshot:
                store = self._closing.enter_context(Store.open_readonly(snapshot.database))
                return Side(word, store, self._selection_in(store, word))
            case Path() as path:
                if self._has_own and path.samefile(self._selected.database):
                    raise UsageError(
                        f"{word}: is the database whose runs are compared",
                        hint="name one of its runs, `last`, or a snapshot of it",
                    )
                opened = results_at(Path(word), scratch=self._has_own and self.own.scratch)
                store, lacks = self._closing.enter_context(opened)
                return Side(word, store, self._selection_in(store, word), lacks)

    def side_of_host(self, hostname: str, without: Iterable[str] = ()) -> Side:
        """The newest results of a host, but for those of these ids."""
        return side_of_host(self.own, self.selection, hostname, without)

    def _selection_in(self, store: Store, word: str) -> Selection:
        """The selected results of a database that is not the user's."""
        try:
            return self._selected.selection_in(store)
        except UsageError as error:
            raise UsageError(f"{word}: {error}", hint="filters hold for both sides") from error


def _siblings(word: str) -> list[str]:
    """The paths beside the one that the word would be."""
    folder, _ = os.path.split(word)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(_SIBLINGS), strict=False)]
    except (OSError, ValueError):
        return []
    return [os.path.join(folder, name) for name in sorted(names)]  # noqa: PTH118 - as it was typed
