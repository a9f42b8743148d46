"""Rows of results for tests, with values that a test may change."""

from typing import Any

from orchestrator.store import Measurement, ResultRow

_ROW: dict[str, Any] = {
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
    "status": "ok",
    "reason": None,
    "predicted": False,
    "proof": "proven",
    "correct": True,
    "correct_reason": None,
    "grade": "B",
    "grade_reasons": [],
    "throughput": 1234.5,
    "token_throughput": None,
    "latency_median_ms": 0.81,
    "latency_median_low_ms": 0.80,
    "latency_median_high_ms": 0.82,
    "latency_precision": 0.02,
    "latency_p90_ms": None,
    "latency_p99_ms": None,
    "peak_qps": None,
    "load_time_s": 0.25,
    "memory_mb": 301.2,
    "energy_per_sample_joules": None,
}
_MEASURED: dict[str, Any] = {
    "result_id": "run-1/cell-1",
    "phase": None,
    "hostname": "here",
    "launcher": "docker",
    "image": "accelmatrix-cpu:1",
    "image_digest": "sha256:" + "a" * 64,
    "git_commit": "c" * 40,
    "runner_version": "0.1.0",
    "job": None,
    "model_spec": None,
}
_UNMEASURED = (
    *("correct", "grade", "grade_reasons", "throughput", "memory_mb"),
    *(name for name in _ROW if name.startswith("latency")),
)


def a_row(cell_id: str, **changes: Any) -> ResultRow:
    """A sound result."""
    return ResultRow(**{"cell_id": cell_id, **_ROW} | changes)


def a_failed_row(cell_id: str, status: str, reason: str) -> ResultRow:
    """A verdict without a measurement."""
    nothing = dict.fromkeys(_UNMEASURED)
    return a_row(cell_id, **nothing, status=status, reason=reason, proof="none")


def a_measurement(**changes: Any) -> Measurement:
    """A sound result with what it takes to measure it again."""
    return Measurement(**{"cell_id": "cell-1", **_ROW, **_MEASURED} | changes)
