"""Seconds of the same work here and on hosts: jobs, makespans, shared devices.

The bound of a makespan is max(all work / hosts, longest job), a job being as long as it is here,
without a fleet. A job lasts from its launch to the next one, so what an order costs between two of
them is in it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from orchestrator.store.records.validate import read_record
from performance.fleet.figures import Figure
from performance.fleet.hosts import Command, Line, by_pipe, by_ssh, local
from runner.contract.record.record import Record
from tests.support.workplace import Workplace

ADDED_S, FIRST_S = 0.5, 5.0
"""Most seconds that a transport may add to a job, and from planning to a host's first job."""
LEAST = 0.9
"""Least share of the bound by the makespan."""
HOSTS = ("a", "b", "c")
JOBS, TURNS = 30, 3
ON_HOSTS = r"cells on \d+ hosts?; about"
"""The line after which orders go out."""


class Span(NamedTuple):
    """The time in which a record's iterations ran, seconds since 1970."""

    began_s: float
    ended_s: float


def overhead(folder: Path) -> list[Figure]:
    """Run the same six jobs here and by each transport, in turns."""
    runs: dict[str, list[Sequence[Line]]] = {}
    with by_ssh(folder / "ssh") as ssh:
        ways = (local(folder / "local"), by_pipe(folder / "pipe"), ssh)
        for turn in range(TURNS):
            for way in ways:
                user = way.user(folder / f"user-{way.name}-{turn}")
                user.write_matrix(models=6, batch_sizes=[1], latency_s=0.1)
                runs.setdefault(way.name, []).append(Command(user, *way.run()).end())
    return overhead_figures(runs)


def overhead_figures(runs: Mapping[str, Sequence[Sequence[Line]]]) -> list[Figure]:
    """The figures of runs by their ways; `local` is what the others are compared with."""
    periods = {
        name: median(period for lines in of_way for period in job_periods(lines))
        for name, of_way in runs.items()
    }
    here = periods.pop("local")
    figures = [Figure("a job, locally", here, "s")]
    for name, period in periods.items():
        first = median(map(first_job_s, runs[name]))
        figures += [
            Figure(f"{name}: added to a job", period - here, "s", ADDED_S),
            Figure(f"{name}: until the first job on a host", first, "s", FIRST_S),
        ]
    return figures


def spread(folder: Path) -> list[Figure]:
    """Let three hosts sleep together, each with device locks of its own."""
    here, way = local(folder / "local"), by_pipe(folder / "hosts", HOSTS)
    user = here.user(folder / "here")
    user.write_matrix(models=3, batch_sizes=[1], latency_s=2.0)
    job_s = median(job_periods(Command(user, *here.run()).end()))
    user = way.user(folder / "user")
    user.write_matrix(models=JOBS, batch_sizes=[1], latency_s=2.0)
    lines = Command(user, *way.run()).end()
    return spread_figures(job_s, makespan_s(lines), JOBS, len(HOSTS))


def spread_figures(job_s: float, seconds: float, jobs: int, hosts: int) -> list[Figure]:
    """The figures of so many jobs on so many hosts."""
    bound = max(jobs / hosts, 1) * job_s
    return [
        Figure("a job, locally", job_s, "s"),
        Figure(f"{jobs} jobs on {hosts} hosts", seconds, "s"),
        Figure("bound / makespan", bound / seconds, "", LEAST, is_least=True),
    ]


def together(folder: Path) -> list[Figure]:
    """Let two drivers and a local run use one device, which all hosts share."""
    here = local(folder)
    way = by_pipe(folder / "hosts", HOSTS, Path(here.environment["ACCELMATRIX_LOCKS"]))
    ways = (way, way, here)
    users = [one.user(folder / f"user-{at}") for at, one in enumerate(ways)]
    for user in users:
        user.write_matrix(models=3, batch_sizes=[1, 2], latency_s=0.2)
    runs = [Command(user, *one.run()) for user, one in zip(users, ways, strict=True)]
    codes = [run.status() for run in runs]
    for run, code in zip(runs, codes, strict=True):
        if code:
            print(f"exit status {code}:\n{run.text}")
    records = [record for user in users for record in _records(user)]
    lacking = sum(len(user.planned()) for user in users) - len(records)
    name = "two drivers and a local run"
    return [
        Figure(f"{name}: runs that did not end well", sum(map(bool, codes)), "", 0),
        Figure(f"{name}: cells without a record", lacking, "", 0),
        Figure("pairs of records that overlap in time", overlaps(map(span_of, records)), "", 0),
    ]


def _records(user: Workplace) -> Iterator[Record]:
    for path in user.records():
        record = read_record(path)
        if record.status == "ok":
            yield record


def job_periods(lines: Sequence[Line]) -> list[float]:
    """Seconds from each launch to the next one, of a run that does one after the other."""
    return [after - before for before, after in pairwise(_job_starts(lines))]


def makespan_s(lines: Sequence[Line]) -> float:
    """Seconds from the moment at which orders go out to the last verdict."""
    return max(line.at_s for line in lines if re.match(r"\[\d+/\d+\] ", line.text)) - _began(lines)


def first_job_s(lines: Sequence[Line]) -> float:
    """Seconds from the moment at which orders go out to the first launch."""
    return _job_starts(lines)[0] - _began(lines)


def _began(lines: Sequence[Line]) -> float:
    return next(line.at_s for line in lines if re.search(ON_HOSTS, line.text))


def _job_starts(lines: Sequence[Line]) -> list[float]:
    """The moments at which jobs of the fake backend were launched, here or on a host."""
    return [line.at_s for line in lines if re.match(r"([\w.-]+: )?fake-\S+: \d+ cell", line.text)]


def span_of(record: Record) -> Span:
    """The time of a record's iterations: they ended just before it was made."""
    timed_ns = sum(record.durations_ns or ())
    return Span(
        (record.recorded_at - timedelta(microseconds=timed_ns / 1000)).timestamp(),
        record.recorded_at.timestamp(),
    )


def overlaps(spans: Iterable[Span]) -> int:
    """Number of neighbours in time of which one begins before the other has ended."""
    return sum(after.began_s < before.ended_s for before, after in pairwise(sorted(spans)))
