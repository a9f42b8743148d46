"""Times of a query with and without the copies between host and device.

The time of a record spans the region of its runtime. Where that lies on an accelerator, a few
queries with both copies inside are timed as well, behind the steady phase; on a host the two are
one. So rows of all runtimes have a number of the same region.
"""

from statistics import median

from runner.backends.base import Region, Session
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.inputs import synthesise
from runner.measure.clock import NANOSECONDS, Clock
from runner.measure.phases import time_once

LEAST_QUERIES = 5
LEAST_NS = 200_000_000
"""Least sum of the queries' durations."""
MOST_NS = 2_000_000_000
"""Sum at which they end with fewer: what is not timed stays small."""


def has_regions(cell: Cell) -> bool:
    """True if the cell's iteration is a query whose copies can be in or out."""
    return cell.mode == "inference" and cell.scenario != "server"


def host_to_host_s(session: Session, job: Job, cell: Cell, clock: Clock) -> float | None:
    """Median seconds of queries with both copies; None where the record's time is that anyhow."""
    if session.region != "device" or not has_regions(cell):
        return None
    query = session.bind_host_to_host(cell, synthesise(job.model, cell, job.weights_seed))
    time_once(query, clock)
    durations: list[int] = []
    while len(durations) < LEAST_QUERIES or sum(durations) < LEAST_NS:
        durations.append(time_once(query, clock))
        if sum(durations) >= MOST_NS:
            break
    return median(durations) / NANOSECONDS


def region_columns(
    region: Region, cell: Cell, latency_median_s: float, host_to_host: float | None
) -> Columns:
    """Columns of both regions; that of the device is null where every query copies."""
    if not has_regions(cell):
        return {}
    return {
        "device_median_s": None if region == "host_to_host" else latency_median_s,
        "host_to_host_median_s": host_to_host if region == "device" else latency_median_s,
    }
