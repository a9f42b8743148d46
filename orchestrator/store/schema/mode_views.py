"""Views of what one mode or scenario measures beside latency and throughput."""

from collections.abc import Iterable

from orchestrator.store.schema.view import (
    DEVICE,
    QUOTABLE,
    Shown,
    View,
    columns,
    joined,
    megabytes,
    milliseconds,
    same,
    select,
)
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES

PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_WHICH = [
    *same("result_id", "cell_id", "model"),
    DEVICE,
    *same("hostname", "backend", "runtime", "precision"),
    *same(*(name for name in SIZE_AXES if name != "new_tokens")),
]
_TRUST = [
    *same("iterations", "correct", "verified_shape", "grade"),
    Shown("measured_at", "r.recorded_at", "TIMESTAMPTZ", "When the record was written, UTC."),
]


def _view(name: str, doc: str, shown: Iterable[Shown], condition: str) -> View:
    """Rows of `benchmark_performance` with columns of their own."""
    every = [*_WHICH, *shown, *_TRUST]
    query = f"SELECT {select(every)} FROM {joined()} WHERE {QUOTABLE} AND {condition}"
    return View(name, doc, columns(every), query)


def _tokens(name: str) -> list[Shown]:
    return milliseconds(
        *(f"{name}_{each}" for each in ("mean", "median", "stddev", *PERCENTILES)),
    )


GENERATION = _view(
    "generation_results",
    "Generation: prefill and decode apart; rows as in `benchmark_performance`.",
    [
        *same("new_tokens"),
        *_tokens("time_to_first_token"),
        *_tokens("time_per_output_token"),
        *same("decode_throughput", "token_throughput"),
        *milliseconds("latency_median", "latency_p90", "latency_p99"),
        *same("energy_per_token_joules"),
    ],
    "r.mode = 'generation'",
)
TRAINING = _view(
    "training_results",
    "Training: the parts of a step; rows as in `benchmark_performance`.",
    [
        *same("throughput"),
        *milliseconds("latency_median", "forward_median", "loss_median"),
        *milliseconds("backward_median", "optimizer_median"),
        *milliseconds("forward_mean", "loss_mean", "backward_mean", "optimizer_mean"),
        *same("training_loss_first", "training_loss_last"),
        megabytes("memory_mb", "memory_peak_bytes"),
    ],
    "r.mode = 'training'",
)
_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
STARTUP = _view(
    "startup_results",
    "Cold starts, stage by stage, and many at once; rows as in `benchmark_performance`.",
    [
        *milliseconds("latency_median"),
        *(
            column
            for stage in _STAGES
            for column in same(f"startup_{stage}_mean_s", f"startup_{stage}_stddev_s")
        ),
        *same("concurrent_workers", "concurrent_time_s"),
        *same("concurrent_models_per_second", "concurrent_speedup"),
    ],
    "r.mode = 'startup'",
)
ARRIVALS = _view(
    "arrival_results",
    "The scenarios `offline` and `server`; rows as in `benchmark_performance`.",
    [
        *same(*ARRIVAL_AXES, "throughput", "achieved_qps"),
        *milliseconds("latency_median", "latency_p90", "latency_p99", "service_median"),
        *same("slo_met", "peak_qps", "search"),
    ],
    "r.scenario <> 'single_stream'",
)
MODE_VIEWS = (GENERATION, TRAINING, STARTUP, ARRIVALS)
