"""Records and results of rounds for tests, with values that a test may change."""

import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.reasons import reason, reason_columns
from runner.contract.record.ids import SHARED_FACTS, environment_id, hardware_id, host_id, model_id
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.contract.record.verdict import Doubt
from runner.contract.rounds import Energy, MemoryUse, Noise, RoundResult
from tests.support.data import sample

RECORDED_AT = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
DURATIONS_NS = (2_000_000, 3_000_000, 4_000_000)
MIB = 1 << 20
QUIET = Noise(
    steal=0.0, other_load=0.0, kernel_spread_before=0.01, kernel_spread_after=0.01, kernel_shift=0.0
)
_SAMPLE = sample("record")
EXAMPLE_HOST = host_id(_SAMPLE["surroundings"]) or ""


def a_record(**changes: Any) -> Record:
    """A sound, proven record of a cell of the cpu backend; its cell id follows from its fields."""
    known = {"recorded_at": RECORDED_AT, "status": "ok", "proof": "proven"}
    values: dict[str, Any] = {**_SAMPLE["cell"], **_SAMPLE["surroundings"], **known} | changes
    for name in ("reason", "correct_reason"):
        values |= said(name.removesuffix("_reason"), values.pop(name, None))
    if values["status"] == "ok":
        durations = values.pop("durations_ns", None) or _durations(changes)
        values = _measured(values["batch_size"], durations) | values
        values |= _paced(values, changes)
    values.setdefault("cell_id", cell_of(values).id)
    values.setdefault("job_id", cell_of(values).job_id)
    return _identified(Record.model_validate(values), changes)


def said(name: str, text: str | None) -> dict[str, Any]:
    """The columns of a reason that is this text."""
    return {} if text is None else reason_columns(name, reason("said", text=text))


NOISY = Doubt("scatter", "B", 0.12, "longer_or_quieter")
"""A doubt for records that need one."""


def a_failure(status: str, reason: str, **changes: Any) -> Record:
    """A record without a measurement."""
    return a_record(status=status, reason=reason, phase="steady", proof="none", **changes)


def record_for(job: Job, cell: Cell, **columns: Any) -> Record:
    """The record of a job's cell with these columns, `ok` unless they say otherwise."""
    for name in ("reason", "correct_reason"):
        columns |= said(name.removesuffix("_reason"), columns.pop(name, None))
    ending = {name: columns.pop(name) for name in Outcome.model_fields if name in columns}
    if ending.get("status", "ok") == "ok" and "latency_median_s" not in columns:
        batch = columns.get("batch_size", cell.batch_size)
        durations = columns.get("durations_ns", DURATIONS_NS)
        columns = _timed(batch, durations) | {"round_iterations": None} | columns
    if columns.get("proof", "none") != "none":
        columns = {"evidence": {"device": "fake"}} | columns
    return Record.of(job, cell, Outcome.model_validate({"status": "ok"} | ending), columns)


def _paced(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What follows from the counts and rates that a test wants, without raw durations then."""
    follows: dict[str, Any] = {}
    if "rounds" in changes and "round_iterations" not in changes:
        follows["round_iterations"] = None
    paces = changes.keys() & {"throughput", "steady_time_s", "achieved_qps"}
    if paces:
        follows["durations_ns"] = changes.get("durations_ns")
    if "steady_time_s" not in changes and any(changes[name] for name in paces):
        rate = changes.get("achieved_qps") or changes["throughput"] / values["batch_size"]
        follows["steady_time_s"] = values["iterations"] / rate
    steady_s = follows.get("steady_time_s", values["steady_time_s"])
    if paces and "throughput" not in changes and steady_s:
        follows["throughput"] = values["batch_size"] * values["iterations"] / steady_s
    return follows


def _durations(changes: dict[str, Any]) -> Sequence[int]:
    """Raw durations that have the median which a test wants."""
    if changes.get("latency_median_s") is None:
        return DURATIONS_NS
    median = round(changes["latency_median_s"] * 1e9)
    return (median - median // 3, median, median + median // 3)


def _identified(record: Record, changes: dict[str, Any]) -> Record:
    """The record with the ids that follow from its other columns, save those that a test set."""
    facts = record.model_dump(mode="json", include=set(SHARED_FACTS))
    ids = {"hardware_id": hardware_id(facts), "environment_id": environment_id(facts)}
    if record.model_spec is not None:
        ids["model_id"] = model_id(record.model_spec)
    return record.model_copy(update={name: ids[name] for name in ids.keys() - changes.keys()})


def cell_of(values: Mapping[str, Any]) -> Cell:
    """The cell of a record's columns, which names no number of threads."""
    axes = {name: values.get(name) for name in Cell.model_fields if name != "threads"}
    return Cell.model_validate(axes)


def _measured(batch_size: int, durations_ns: Sequence[int]) -> dict[str, Any]:
    return {**_SAMPLE["measured"], **_timed(batch_size, durations_ns)}


def _timed(batch_size: int, durations_ns: Sequence[int]) -> dict[str, Any]:
    seconds = [duration / 1e9 for duration in durations_ns]
    median, mean = statistics.median(seconds), statistics.mean(seconds)
    deviation = statistics.stdev(seconds) if len(seconds) > 1 else None
    return {
        "iterations": len(seconds),
        "round_iterations": [len(seconds)],
        "steady_time_s": sum(seconds),
        "latency_mean_s": mean,
        "latency_median_s": median,
        "latency_median_low_s": median * 0.99,
        "latency_median_high_s": median * 1.01,
        "latency_min_s": min(seconds),
        "latency_max_s": max(seconds),
        "latency_stddev_s": deviation,
        "latency_mad_s": statistics.median(abs(value - median) for value in seconds),
        "latency_cv": deviation / mean if deviation is not None else None,
        "throughput": batch_size * len(seconds) / sum(seconds),
        "durations_ns": list(durations_ns),
    }


def a_round(durations_ns: list[int] | None = None, **changes: Any) -> RoundResult:
    """The result of a quiet round of a cell of batch 1."""
    durations = durations_ns or [10_000_000 + step * 1_000 for step in range(20)]
    values: dict[str, Any] = {
        "samples": len(durations),
        "steady_ns": sum(durations),
        "durations_ns": durations,
        "first_ns": 50_000_000,
        "warmup_ns": [12_000_000, 11_000_000],
        "settled": True,
        "noise": QUIET,
        "energy": Energy(joules=None, window_s=None, method="unavailable: no counter"),
        "memory": MemoryUse(
            peak_bytes=300 * MIB, steady_peak_bytes=290 * MIB, average_bytes=280 * MIB
        ),
        "load_average_1m": 0.5,
        "columns": {"timed_region": "a sleep"},
    }
    return RoundResult(**values | changes)
