"""Many jobs on three hosts against their bound, and drivers that share a host's device.

The bound of a makespan is max(all work / hosts, longest job), a job being as long as it is here,
without a fleet.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from orchestrator.store import read_record
from performance.fleet.commands import Command, job_periods, makespan_s
from performance.fleet.figures import Figure
from performance.fleet.ways import Way, by_ray
from runner.contract.record import Record
from tests.support.workplace import Workplace

HOSTS, JOBS = 3, 30
LEAST = 0.9
"""Least share of the bound by the makespan."""
LATENCY_S = 2.0
"""Seconds of a query: a job sleeps some ten."""


class Span(NamedTuple):
    """The time in which a record's iterations ran, seconds since 1970."""

    began_s: float
    ended_s: float


def spread(folder: Path) -> list[Figure]:
    """Let three hosts sleep together, each with device locks of its own."""
    with by_ray(folder / "ray") as (way, cluster):
        here = Way("local", environment=cluster.environment).user(folder / "local")
        here.write_matrix(models=3, batch_sizes=[1], latency_s=LATENCY_S)
        job_s = median(job_periods(Command(here, "run", *_LOCAL).end()))
        user = way.user(folder / "user")
        user.write_matrix(models=JOBS, batch_sizes=[1], latency_s=LATENCY_S)
        lines = Command(user, *way.run()).end()
    return spread_figures(job_s, makespan_s(lines), JOBS, HOSTS)


_LOCAL = ("matrix.yaml", "--scratch", "--launcher", "process", "--seed", "0")


def spread_figures(job_s: float, seconds: float, jobs: int, hosts: int) -> list[Figure]:
    """The figures of so many jobs on so many hosts."""
    bound = max(jobs / hosts, 1) * job_s
    return [
        Figure("a job, locally", job_s, "s"),
        Figure(f"{jobs} jobs on {hosts} hosts", seconds, "s"),
        Figure("bound / makespan", bound / seconds, "", LEAST, is_least=True),
    ]


def together(folder: Path) -> list[Figure]:
    """Let two drivers and a local run use one device, which all hosts of Ray share here."""
    with by_ray(folder / "ray", separate=False) as (way, cluster):
        here = Way("local", environment=cluster.environment)
        users = [one.user(folder / f"user-{at}") for at, one in enumerate((way, way, here))]
        for user in users:
            user.write_matrix(models=3, batch_sizes=[1, 2], latency_s=0.2)
        runs = [
            Command(user, *one.run()) for user, one in zip(users, (way, way, here), strict=True)
        ]
        codes = [run.status() for run in runs]
    for run, code in zip(runs, codes, strict=True):
        if code:
            print(f"exit status {code}:\n{run.text}")
    records = [record for user in users for record in _records(user)]
    planned = sum(len(user.planned()) for user in users)
    return [
        Figure(
            "two drivers and a local run: runs that did not end well", sum(map(bool, codes)), "", 0
        ),
        Figure(
            "two drivers and a local run: cells without a record", planned - len(records), "", 0
        ),
        Figure("pairs of records that overlap in time", overlaps(map(span_of, records)), "", 0),
    ]


def _records(user: Workplace) -> Iterator[Record]:
    for path in user.records():
        record = read_record(path)
        if record.status == "ok":
            yield record


def span_of(record: Record) -> Span:
    """The time of a record's iterations: they ended just before it was made."""
    timed_ns = sum(record.durations_ns or ())
    return Span(
        (record.recorded_at - timedelta(microseconds=timed_ns / 1000)).timestamp(),
        record.recorded_at.timestamp(),
    )


def overlaps(spans: Iterator[Span] | Sequence[Span]) -> int:
    """Number of neighbours in time of which one begins before the other has ended."""
    return sum(after.began_s < before.ended_s for before, after in pairwise(sorted(spans)))
