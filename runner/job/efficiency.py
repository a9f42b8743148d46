"""Columns of efficiency: the work of an iteration, and the peaks of the job's device.

Peaks are measured once, while the first launch of a job loads: a product in the job's precision by
its own runtime and threads, of matrices that double until another doubling would take too long, and
a copy between arrays of four times the last cache (STREAM, McCalpin 1995). The copy comes first,
and the product takes what is left of the time for both. The best of several is kept, as STREAM
keeps it: whatever else happens on a machine makes a kernel slower, never faster.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.backends.base import Session
from runner.backends.peaks import Kernel, PeakKernels
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.models import iteration_work
from runner.contract.models.work import FLOPS_PER_MAC
from runner.contract.record.record import Columns
from runner.measure.clock import NANOSECONDS, Clock
from runner.measure.phases import time_once
from runner.modes.registry import COLD_MODES

LIMIT_NS = 500_000_000
"""Time for both, to make their kernels included. It cuts short neither the making
of the copy and of the smallest product, nor the first two calls of each."""
PRODUCT_NS = 80_000_000
"""Least sum of the timed products of the last size, which are at least three if time allows."""
COPY_NS = 50_000_000  # the same of copies
LEAST_REPEATS = 3
FIRST_SIZE = 256  # rows of the first matrices
LAST_SIZE = 8192  # rows of the largest: a GPU needs those, and a CPU never comes there
GROWTH = 8  # a matrix of twice the rows takes so many times as long
NUMBERS_GROWTH = 4  # it has so many times as many numbers, which have to be made before
COPY_BYTES = 32 << 20, 256 << 20  # least and greatest size of an array to copy
UNKNOWN_CACHE_BYTES = 64 << 20
_LARGEST = 2**63 - 1
"""The largest number that a column takes; counts that a job made may give what none can be."""
ROOM_SHARE = 1 / 8  # greatest share of the memory that a job may use which both arrays may take


@dataclass(frozen=True)
class Room:
    """Sizes that bound the arrays of a copy."""

    cache_bytes: int | None  # the last cache of the CPUs; None if unknown, or of an accelerator
    memory_bytes: int | None  # memory that the job may use; None without a limit


@dataclass(frozen=True)
class _Peak:
    size: int  # rows of a matrix, or bytes of an array
    per_s: float  # operations, or bytes, per second


def has_peaks(job: Job) -> bool:
    """True if this launch measures peaks: the job's first, unless nothing warm is timed."""
    timed = job.purpose in ("measure", "time") and job.cells[0].mode not in COLD_MODES
    return timed and job.round == 1


def peak_columns(session: Session, room: Room, clock: Clock) -> Columns:
    """The peaks, or why there are none, as columns; none where times say nothing of a device."""
    kernels = session.peak_kernels()
    if kernels is None:
        return {}
    end = clock() + LIMIT_NS
    try:
        copy = _copy(kernels, room, end, clock)
        is_late = clock() >= end
        product = None if is_late else _product(kernels, end, clock)
    except Exception as error:  # runtimes raise what they like
        return {"peak_method": f"unavailable: {type(error).__name__}: {error}"}
    finally:
        session.trim()
    return {
        "peak_flops_per_s": product and product.per_s,
        "peak_bytes_per_s": copy and copy.per_s,
        "peak_method": "; ".join(_method(kernels, product, copy, is_late=is_late)),
        "device_cache_bytes": kernels.cache_bytes or room.cache_bytes,
    }


def work_columns(job: Job, cell: Cell, observed: Columns) -> Columns:
    """The counted work of one iteration; none where nothing was observed of the device's peaks."""
    if "peak_method" not in observed:
        return {}
    work = iteration_work(job.model, cell, job.counted)
    if work is None:
        return {}
    columns = {
        "flops_per_iteration": work.whole.flops,
        "bytes_per_iteration": work.whole.traffic_bytes,
    }
    if work.prefill is not None:
        columns["prefill_flops"] = work.prefill.flops
        columns["prefill_bytes"] = work.prefill.traffic_bytes
    return columns if all(0 < number <= _LARGEST for number in columns.values()) else {}


def _product(kernels: PeakKernels, end: int, clock: Clock) -> _Peak | None:
    """The fastest product of all sizes tried; None without one in the cell's numbers."""
    if kernels.product is None:
        return None
    size, best = FIRST_SIZE, 0.0
    last = kernels.last_rows or LAST_SIZE
    while True:
        begin = clock()
        kernel = kernels.product(size)
        if kernel is None:
            return None
        making = clock() - begin
        kernel()
        calls = _timed_calls(kernel, 0, end, clock)
        too_long = GROWTH * LEAST_REPEATS * min(calls) > PRODUCT_NS
        doubled = NUMBERS_GROWTH * making + GROWTH * (max(calls) + sum(calls))
        is_last = size >= last or too_long or doubled > end - clock()
        if is_last:
            calls = _timed_calls(kernel, PRODUCT_NS, end, clock, calls)
        best = max(best, FLOPS_PER_MAC * size**3 * NANOSECONDS / min(calls))
        if is_last:
            return _Peak(size, best)
        size *= 2


def _copy(kernels: PeakKernels, room: Room, end: int, clock: Clock) -> _Peak | None:
    """The fastest copy; None if arrays as large as this cache needs would take too much memory."""
    cache = kernels.cache_bytes or room.cache_bytes or UNKNOWN_CACHE_BYTES
    least, most = COPY_BYTES
    size = min(max(2 * cache, least), most)
    crowded = room.memory_bytes is not None and 2 * size > ROOM_SHARE * room.memory_bytes
    if kernels.copy is None or crowded or size < cache:
        return None
    kernel = kernels.copy(size)
    kernel()
    return _Peak(size, 2 * size * NANOSECONDS / min(_timed_calls(kernel, COPY_NS, end, clock)))


def _timed_calls(
    kernel: Kernel, least_ns: int, end: int, clock: Clock, earlier: Sequence[int] = ()
) -> list[int]:
    """Nanoseconds of the earlier calls and of as many more as the sum needs, or the least number.

    The caller has executed the kernel once before, since a first call allocates. One is timed at
    least, and no other begins that would be over after the end.
    """
    calls = list(earlier) or [max(1, time_once(kernel, clock))]
    while clock() + max(calls) <= end and (
        sum(calls) < least_ns or (len(calls) < LEAST_REPEATS and sum(calls) < PRODUCT_NS)
    ):
        calls.append(max(1, time_once(kernel, clock)))
    return calls


def _method(
    kernels: PeakKernels, product: _Peak | None, copy: _Peak | None, *, is_late: bool
) -> Iterator[str]:
    yield kernels.method
    if product:
        yield f"matrices of {product.size} rows"
    elif is_late and kernels.product:
        yield "no matrices: the copy took all the time"
    if copy:
        yield f"arrays of {copy.size >> 20} MiB"
