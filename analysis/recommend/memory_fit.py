"""Memory: whether a cell fits under a limit, by what was measured of it and of its neighbours.

More samples, and larger ones, never take less memory. So what ran out of memory says so of every
larger cell on the same path, and what fitted of every smaller one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.recommend.candidates import Figure, Objection
from runner.contract.axes import SIZE_AXES
from runner.contract.cell import Cell

BYTES_PER_MB = 1_000_000
GROWTH_MARGIN = 1.05
"""Factor on what a straight line through measured batches says: allocators grow in steps."""
LEAST_BATCHES = 3
"""Measured batches from which on their growth is followed: two may lie on one step."""
FARTHEST = 4
"""Times the largest measured batch up to which such a line is followed."""
LEAST_GROWTH = 1.1
"""Growth from the smallest to the largest measured batch from which on a line tells anything."""
_SAME = ("model", "backend", "runtime", "precision", "mode", "threads", "training_precision")


@dataclass(frozen=True)
class MemoryResult:
    """The memory that a cell took on a machine, or that it ran out."""

    cell: Cell
    peak_bytes: float | None
    """The highest of all its results; None where it ran out."""
    ran_out: bool = False
    limit_bytes: int | None = None
    """The limit of the job; None for that of the machine."""
    foreseen: bool = False
    """True if it was not started, as what it needs at least was more than that."""


def is_at_least(one: Cell, other: Cell) -> bool:
    """True if a cell is another one with the same sizes or larger ones."""
    if any(getattr(one, name) != getattr(other, name) for name in _SAME):
        return False
    sizes = [(getattr(one, name), getattr(other, name)) for name in SIZE_AXES]
    return all(
        size == least if size is None or least is None else size >= least for size, least in sizes
    )


def ran_out(cell: Cell, results: Iterable[MemoryResult], limit_bytes: int | None) -> str | None:
    """The measured lack of memory that speaks against a cell; None without one."""
    for result in results:
        if not (result.ran_out and is_at_least(cell, result.cell)):
            continue
        under = result.limit_bytes
        if limit_bytes and under and under < limit_bytes:
            continue
        size = "" if cell == result.cell else f" at {result.cell.shape}"
        limited = f" under a limit of {memory_words(under)}" if under else ""
        verb = "was foreseen to run" if result.foreseen else "ran"
        return f"{verb} out of memory{size}{limited}"
    return None


def objection_by_memory(
    cell: Cell, limit_bytes: int | None, results: Sequence[MemoryResult], predicted: Figure | None
) -> Objection | None:
    """The objection to a cell; None if it fits with 95 %, was measured to fit, or has no limit."""
    if reason := ran_out(cell, results, limit_bytes):
        return Objection("out_of_memory", reason)
    held = [one for one in results if one.limit_bytes and not one.ran_out]
    if not limit_bytes or any(
        (one.limit_bytes or 0) <= limit_bytes and is_at_least(one.cell, cell) for one in held
    ):
        return None
    known = [(one.cell, one.peak_bytes) for one in results if one.peak_bytes]
    if own := [peak for other, peak in known if other == cell]:
        return _too_much(max(own), limit_bytes, "took")
    if any(peak <= limit_bytes for other, peak in known if is_at_least(other, cell)):
        return None
    smaller = [one for one in known if is_at_least(cell, one[0])]
    if smaller:
        largest, peak = max(smaller, key=lambda one: one[1])
        if peak > limit_bytes:
            return _too_much(peak, limit_bytes, f"took at {largest.shape}")
    bounds = [grown_bytes(cell, results)]
    if predicted and not predicted.outside:
        bounds.append(predicted.high * BYTES_PER_MB)
    least = min(filter(None, bounds), default=None)
    reason = predicted.outside[0] if predicted and not least else "nothing tells its memory"
    unknown = Objection("fit_unknown", reason)
    return _too_much(least, limit_bytes, "may take up to") if least else unknown


def grown_bytes(cell: Cell, results: Iterable[MemoryResult]) -> float | None:
    """The most that a larger batch may take by the growth of smaller ones; None if it is not seen.

    Memory is affine in the batch: weights and code, and as much again for each sample. The line
    begins at the largest measured batch with the steepest of its slopes to the smaller ones, as a
    process keeps what earlier cells took, and that flattens small batches.
    """
    peaks: dict[int, float] = {}
    for one in results:
        batch = one.cell.batch_size
        if one.peak_bytes and one.cell == cell.model_copy(update={"batch_size": batch}):
            peaks[batch] = max(one.peak_bytes, peaks.get(batch, 0.0))
    if len(peaks) < LEAST_BATCHES:
        return None
    last, first = max(peaks), min(peaks)
    if not last < cell.batch_size <= FARTHEST * last or peaks[last] < LEAST_GROWTH * peaks[first]:
        return None
    slopes = (
        (peaks[last] - peak) / (last - batch) for batch, peak in peaks.items() if batch < last
    )
    return GROWTH_MARGIN * (peaks[last] + max(slopes) * (cell.batch_size - last))


def _too_much(need: float, limit: int, verb: str) -> Objection | None:
    if need <= limit:
        return None
    over = f"{percentage(need / limit - 1)} over" if need < 10 * limit else f"{need / limit:,.0f} ×"
    return Objection("does_not_fit", f"{verb} {memory_words(need)}, {over} {memory_words(limit)}")


def percentage(share: float) -> str:
    return f"{100 * share:.0f} %"


def memory_words(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"
