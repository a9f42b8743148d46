"""The baseline of real slowdowns: the first steady one of several cells, with a history of runs.

Every candidate has a folder of its own. In it lie its probe, with a database apart, and its runs of
`standard`; whatever is there is not measured again.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.store import query
from orchestrator.system.files import DATABASE_NAME
from performance.slowdowns.copies import bench

MOST_CV = 0.02
"""Coefficient of variation of a cell's launches up to which trials count."""
LEAST_LAUNCHES = 8
"""Launches that tell it."""
MOST_HISTORIES = 2
"""Times the runs of a history that a cell is measured until its newest runs are steady."""
_BERT = ("--model", "bert-base-uncased", "--sequence-length")
_TINY = ("--model", "bert-tiny", "--sequence-length", "128", "--batch-size")
CANDIDATES: Mapping[str, Sequence[str]] = {
    "vit-base-t1": ("--model", "vit-base", "--threads", "1"),
    "bert-base-t1": (*_BERT, "128", "--threads", "1"),
    "bert-base-b8-t1": (*_BERT, "32", "--batch-size", "8", "--threads", "1"),
    "bert-base": (*_BERT, "128"),
    "bert-tiny-b8-t1": (*_TINY, "8", "--threads", "1"),
    "bert-tiny": (*_TINY, "1"),
}
"""Cells of torch, by name, as options of `bench`. Large ones are bound by arithmetic, and one
thread leaves a core to the neighbours."""
PROBE = ("--profile", "quick", "--rounds", "5", "--set", "measure.min_duration=20s", "--no-verify")
"""Five launches of four seconds each, about as long as those of `standard`."""
STANDARD = ("--profile", "standard")
_PROBE_DATABASE = "probe.duckdb"


class NoSteadyCell(Exception):
    """No cell's launches are near enough to each other here and now."""


class OutOfTime(Exception):
    """The minutes of this call are over."""


@dataclass(frozen=True)
class Deadline:
    """The moment after which nothing more is begun, on the monotonic clock."""

    moment: float

    def check(self) -> None:
        """Insist that it has not come yet.

        Raises:
            OutOfTime: it has.
        """
        if time.monotonic() > self.moment:
            raise OutOfTime


@dataclass(frozen=True)
class Baseline:
    """The cell that is judged, with its runs in the checkout's own version."""

    folder: Path
    """The folder of its runs and databases."""
    words: Sequence[str]
    """The cell, as options of `bench`."""
    run_ids: Sequence[str]
    """The newest run, which is the baseline, after those that are its history."""
    cell_id: str
    launches: tuple[float, ...]
    """Medians of all launches of these runs, seconds."""

    @property
    def run_id(self) -> str:
        """The run that others are judged by."""
        return self.run_ids[-1]

    def write_database(self, path: Path) -> None:
        """Write a database that holds these runs alone."""
        path.unlink(missing_ok=True)
        folders = [self.folder / run_id for run_id in self.run_ids]
        merge_paths(folders, path, scratch=False).require_complete()

    def __str__(self) -> str:
        return f"{self.cell_id}: {len(self.launches)} launches have cv {cv_of(self.launches):.2%}"


def find_baseline(folder: Path, copy: Path, history: int, deadline: Deadline) -> Baseline:
    """Probe one candidate after another, and give the first steady one a history.

    At least one run is added: the baseline's image is then at hand, and the coefficient of
    variation is that of today too. Runs are added until the newest ones are steady enough.

    Args:
        folder: the folder that keeps all results.
        copy: the checkout's own version.
        history: runs before the newest one.
        deadline: is heeded between runs.

    Raises:
        NoSteadyCell: all cells differ by more than `MOST_CV`.
        OutOfTime: the deadline has come.
    """
    for name in CANDIDATES:
        if cv_of(_probed(folder / name, copy, deadline), 3) > MOST_CV:
            continue
        for _ in range(MOST_HISTORIES * (history + 1)):
            baseline = _measured(folder / name, copy, name, history + 1, deadline)
            if len(baseline.run_ids) > history and cv_of(baseline.launches) <= MOST_CV:
                return baseline
        print(f"{baseline}: too much", flush=True)
    raise NoSteadyCell(f"no cell has launches of cv {MOST_CV:.0%} or less: try a quieter machine")


def cv_of(launches: Sequence[float], least: int = LEAST_LAUNCHES) -> float:
    """The coefficient of variation of launches; infinite where too few tell it."""
    return stdev(launches) / fmean(launches) if len(launches) >= least else float("inf")


def _probed(folder: Path, copy: Path, deadline: Deadline) -> tuple[float, ...]:
    """The launches of the candidate's probe; none if it cannot be measured."""
    database = folder / _PROBE_DATABASE
    if not _launches(database):
        deadline.check()
        folder.mkdir(parents=True, exist_ok=True)
        bench(copy, folder, [*CANDIDATES[folder.name], *PROBE], database)
        cv = cv_of(_launches(database), 3)
        print(
            f"probe of {folder.name}: {len(_launches(database))} launches, cv {cv:.2%}", flush=True
        )
    return _launches(database)


def _measured(folder: Path, copy: Path, name: str, runs: int, deadline: Deadline) -> Baseline:
    """The candidate after one more run, with the launches of so many of the newest ones.

    Raises:
        NoSteadyCell: it cannot be measured.
        OutOfTime: the deadline has come.
    """
    deadline.check()
    bench(copy, folder, [*CANDIDATES[name], *STANDARD])
    rows = _runs(folder)
    if not rows:
        raise NoSteadyCell(f"{name}: `bench` measured nothing; its runs are in {folder}")
    newest = rows[-runs:]
    launches = tuple(median for row in newest for median in row["round_medians"])
    run_ids = [row["run_id"] for row in newest]
    return Baseline(folder, CANDIDATES[name], run_ids, rows[-1]["cell_id"], launches)


def _launches(database: Path) -> tuple[float, ...]:
    return tuple(median for row in _rows(database) for median in row["round_medians"])


def _runs(folder: Path) -> list[Mapping[str, Any]]:
    return list(_rows(folder / DATABASE_NAME))


def _rows(database: Path) -> Iterator[Mapping[str, Any]]:
    """What was measured, in the order of time."""
    if database.exists():
        columns = "run_id, cell_id, round_medians"
        where = "status = 'ok' AND round_medians IS NOT NULL"
        sql = f"SELECT {columns} FROM benchmark_results WHERE {where} ORDER BY run_id"
        yield from query(database, sql).to_pylist()
