"""Words for a side of a comparison: what each means, and the refusal of what means nothing.

A word is, in this order: `last` or `last~2`; a run's id; a snapshot's name; the path of what is
there; a host's name. One with a slash is a path alone.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from orchestrator.store.health.snapshots import Snapshot
from orchestrator.store.query.results import RunSummary
from runner.contract.errors import UsageError, closest

ALLOWED = (
    "`last`, `last~2`, a run's id, a snapshot's name, a host's name, or the path of a bundle, a"
    " results folder, a database or a table of `orchestrator export`"
)
_LAST = re.compile(r"last(?:~([0-9]{1,6}))?")
_NEWEST = 3
"""Runs that a refusal names."""
_GUESSES = 3
_LETTERS = 80
_LONGEST_NAME = 255
"""Bytes of the longest name of a file."""
_SIBLINGS = 1_000
"""Files of a folder among which a similar name is looked for."""
_ENDINGS = (".zip", ".csv", ".json", ".parquet", ".duckdb")


@dataclass(frozen=True)
class LastRun:
    """The newest run, or one some runs before it."""

    back: int
    """Runs to go back from there."""


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
Meaning: TypeAlias = LastRun | Named


class SideNames(Protocol):
    """The names that a word may be."""

    @property
    def runs(self) -> list[RunSummary]:
        """The runs of the database, the newest first."""
        ...

    @property
    def hostnames(self) -> list[str]:
        """The names of the hosts whose results the database holds."""
        ...

    def snapshot(self, name: str) -> Snapshot | None:
        """The snapshot of that name; None if there is none."""
        ...

    def snapshot_names(self) -> list[str]:
        """The names of all snapshots, the newest first."""
        ...


def meaning_of(word: str, names: SideNames) -> Meaning:
    if match := _LAST.fullmatch(word):
        return LastRun(int(match[1] or 0))
    is_path = os.sep in word or word in {".", ".."} or len(os.fsencode(word)) > _LONGEST_NAME
    if not is_path:
        if any(run.run_id == word for run in names.runs):
            return NamedRun(word)
        if (snapshot := names.snapshot(word)) is not None:
            return snapshot
    if word and os.path.exists(word):  # noqa: PTH110 - a Path raises for names that are too long
        return Path(word).resolve()
    if not is_path and word in names.hostnames:
        return NamedHost(word)
    raise _unknown(word, names)


def _unknown(word: str, names: SideNames) -> UsageError:
    shown = word if len(word) <= _LETTERS else f"{word[:_LETTERS]}…"
    known = dict.fromkeys(name for name in _known(word, names) if name != word)
    near = closest(word, known, _GUESSES)
    runs = [run.run_id for run in names.runs[:_NEWEST]]
    newest = f"the newest {'run is' if len(runs) == 1 else 'runs are'} {', '.join(runs)}"
    if os.path.lexists(word):
        message = f"{shown!r}: is a link that leads nowhere"
    elif _is_like_path(word):
        message = f"{shown!r}: there is no such file or folder"
    else:
        message = f"{shown!r} is no run, snapshot, file or host"
    return UsageError(
        message + (f"; did you mean {' or '.join(near)}?" if near else ""),
        hint=f"a side is {ALLOWED}; {newest if runs else 'there is no run yet'}",
    )


def _is_like_path(word: str) -> bool:
    return os.sep in word or word.lower().endswith(_ENDINGS)


def _known(word: str, names: SideNames) -> Iterator[str]:
    """Words that would mean something and may have been meant."""
    if not _is_like_path(word):
        yield "last"
        yield from (run.run_id for run in names.runs)
        yield from names.snapshot_names()
        yield from names.hostnames
    yield from _siblings(word)


def _siblings(word: str) -> Iterable[str]:
    """The paths beside the one that the word would be."""
    folder, _ = os.path.split(word)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(_SIBLINGS), strict=False)]
    except (OSError, ValueError):
        return ()
    return [os.path.join(folder, name) for name in sorted(names)]  # noqa: PTH118 - as it was typed
