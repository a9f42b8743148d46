"""Records for tests, with values that a test may change."""

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record import Outcome, Record

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


def record_for(job: Job, cell: Cell, **columns: Any) -> Record:
    """The record of a job's cell with these columns, `ok` unless they say otherwise."""
    ending = {name: columns.pop(name) for name in Outcome.model_fields if name in columns}
    return Record.of(job, cell, Outcome.model_validate({"status": "ok"} | ending), columns)


def _cell(values: dict[str, Any]) -> Cell:
    return Cell.model_validate({name: values[name] for name in Cell.model_fields})


def _measured(batch_size: int, durations_ns: Sequence[int]) -> dict[str, Any]:
    seconds = [duration / 1e9 for duration in durations_ns]
    median, mean = statistics.median(seconds), statistics.mean(seconds)
    deviation = statistics.stdev(seconds) if len(seconds) > 1 else None
    return {
        **_TRUST,
        "parameters": 4_385_920,
        "import_time_s": 1.5,
        "load_time_s": 0.25,
        "first_latency_s": 0.005,
        "warmup_iterations": 1,
        "warmup_time_s": 0.003,
        "warmup_settled": True,
        "timed_region": "forward pass on the CPU; inputs and outputs stay in its memory",
        "iterations": len(seconds),
        "rounds": 1,
        "round_iterations": [len(seconds)],
        "steady_time_s": sum(seconds),
        "latency_mean_s": mean,
        "latency_median_s": median,
        "latency_median_low_s": median * 0.99,
        "latency_median_high_s": median * 1.01,
        "latency_precision": 0.01,
        "latency_min_s": min(seconds),
        "latency_max_s": max(seconds),
        "latency_stddev_s": deviation,
        "latency_mad_s": statistics.median(abs(value - median) for value in seconds),
        "latency_cv": deviation / mean if deviation is not None else None,
        "percentile_iterations_needed": {"p50": 11, "p90": 64, "p95": 130, "p99": 662},
        "outliers": 0,
        "throughput": batch_size * len(seconds) / sum(seconds),
        "memory_peak_bytes": 300_000_000,
        "memory_steady_peak_bytes": 290_000_000,
        "memory_average_bytes": 250_000_000,
        "memory_load_peak_bytes": 280_000_000,
        "memory_baseline_bytes": 40_000_000,
        "memory_method": "VmHWM, reset per cell",
        "energy_method": "unavailable: no counter that this user may read",
        "warmup_durations_ns": [5_000_000, 3_000_000],
        "durations_ns": list(durations_ns),
    }


_TRUST = {
    "evidence": {"device": "cpu", "dtype": "torch.float32"},
    "correct": True,
    "verified_shape": "b2-s32",
    "difference_max_abs": 1e-6,
    "difference_relative": 1e-7,
    "cosine_similarity": 1.0,
    "tolerance": 1e-4,
    "grade": "A",
    "grade_reasons": [],
    "noise_score": 0.02,
    "noise_steal": 0.0,
    "noise_other_load": 0.01,
    "noise_kernel_spread_before": 0.01,
    "noise_kernel_spread_after": 0.01,
    "noise_kernel_shift": 0.001,
    "clock_resolution_s": 1e-7,
    "harness_overhead_s": 1e-6,
    "garbage_collection": "off",
}
_CELL = {
    "model": "bert-tiny",
    "backend": "cpu",
    "runtime": "torch",
    "precision": "fp32",
    "batch_size": 1,
    "sequence_length": 128,
    "image_size": None,
    "audio_seconds": None,
    "new_tokens": None,
    "mode": "inference",
    "scenario": "single_stream",
    "target_qps": None,
    "slo_ms": None,
}
_SURROUNDINGS = {
    "run_id": "20261121-120000-abcd",
    "recorded_at": RECORDED_AT,
    "family": "embedding",
    "task": "fill-mask",
    "modality": "text",
    "seed": 7,
    "profile": "quick",
    "purpose": "measure",
    "model_id": "fedcba9876543210",
    "model_spec": '{"name": "bert-tiny"}',
    "job": '{"id": "as it was given"}',
    "environment_id": "0011223344556677",
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
