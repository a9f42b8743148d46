"""Records for tests, with values that a test may change."""

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from runner.cell import Cell
from runner.record import Record

RECORDED_AT = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
DURATIONS_NS = (2_000_000, 3_000_000, 4_000_000)


def a_record(**changes: Any) -> Record:
    """A sound, proven record of a cell of the cpu backend; its cell id follows from its fields."""
    values: dict[str, Any] = {**_CELL, **_SURROUNDINGS, "status": "ok", "proof": "proven"} | changes
    if values["status"] == "ok":
        values = _measured(values["batch_size"], values.pop("durations_ns", DURATIONS_NS)) | values
    values.setdefault("cell_id", _cell(values).id)
    values.setdefault("job_id", _cell(values).job_id)
    return Record.model_validate(values)


def a_failure(status: str, reason: str, **changes: Any) -> Record:
    """A record without a measurement."""
    return a_record(status=status, reason=reason, phase="steady", proof="none", **changes)


def _cell(values: dict[str, Any]) -> Cell:
    return Cell.model_validate({name: values[name] for name in Cell.model_fields})


def _measured(batch_size: int, durations_ns: Sequence[int]) -> dict[str, Any]:
    seconds = [duration / 1e9 for duration in durations_ns]
    return {
        "evidence": {"device": "cpu", "dtype": "torch.float32"},
        "parameters": 4_385_920,
        "import_time_s": 1.5,
        "load_time_s": 0.25,
        "first_latency_s": 0.005,
        "warmup_iterations": 1,
        "warmup_time_s": 0.003,
        "warmup_settled": True,
        "iterations": len(seconds),
        "steady_time_s": sum(seconds),
        "latency_mean_s": statistics.mean(seconds),
        "latency_median_s": statistics.median(seconds),
        "latency_min_s": min(seconds),
        "latency_max_s": max(seconds),
        "throughput": batch_size * len(seconds) / sum(seconds),
        "memory_peak_bytes": 300_000_000,
        "memory_average_bytes": 250_000_000,
        "warmup_durations_ns": [5_000_000, 3_000_000],
        "durations_ns": list(durations_ns),
    }


_CELL = {
    "model": "bert-tiny",
    "backend": "cpu",
    "runtime": "torch",
    "precision": "fp32",
    "batch_size": 1,
    "sequence_length": 128,
    "mode": "inference",
}
_SURROUNDINGS = {
    "run_id": "20261121-120000-abcd",
    "recorded_at": RECORDED_AT,
    "family": "embedding",
    "task": "fill-mask",
    "modality": "text",
    "seed": 7,
    "profile": "quick",
    "hardware_id": "0123456789abcdef",
    "device_name": "Example CPU",
    "cpu_model": "Example CPU",
    "cpu_flags": ["avx2", "fma"],
    "cpu_cores_physical": 2,
    "cpu_cores_logical": 4,
    "cpu_affinity": [0, 1, 2, 3],
    "memory_total_bytes": 8_000_000_000,
    "machine": "x86_64",
    "operating_system": "Example OS",
    "kernel": "6.12.0",
    "hostname": "example-host",
    "load_average_1m": 0.5,
    "threads": 2,
    "python_version": "3.11.9",
    "libraries": {"torch": "2.13.0", "transformers": "5.0.0"},
    "launcher": "process",
    "runner_version": "0.1.0",
    "orchestrator_version": "0.1.0",
}
