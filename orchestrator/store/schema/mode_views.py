"""Views of what one mode or scenario measures beside latency and throughput."""

from collections.abc import Iterable

from orchestrator.store.schema.view import (
    DEVICE,
    TRUSTED,
    View,
    ViewColumn,
    joined_results,
    megabytes,
    milliseconds,
    result_columns,
    select_list,
    view_columns,
)
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES

_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_WHICH = [
    *result_columns("result_id", "cell_id", "model"),
    DEVICE,
    *result_columns("hostname", "backend", "runtime", "precision"),
    *result_columns(*(name for name in SIZE_AXES if name != "new_tokens")),
]
_TRUST = [
    *result_columns("iterations", "correct", "verified_shape", "grade"),
    ViewColumn("measured_at", "r.recorded_at", "TIMESTAMPTZ", "When the record was written, UTC."),
]


def _view(name: str, doc: str, shown: Iterable[ViewColumn], condition: str) -> View:
    """Rows of `benchmark_performance` with columns of their own."""
    every = [*_WHICH, *shown, *_TRUST]
    query = f"SELECT {select_list(every)} FROM {joined_results()} WHERE {TRUSTED} AND {condition}"
    return View(name, doc, view_columns(every), query)


def _tokens(name: str) -> list[ViewColumn]:
    return milliseconds(
        *(f"{name}_{statistic}" for statistic in ("mean", "median", "stddev", *_PERCENTILES)),
    )


_GENERATION = _view(
    "generation_results",
    "Generation: prefill and decode apart; rows as in `benchmark_performance`.",
    [
        *result_columns("new_tokens"),
        *_tokens("time_to_first_token"),
        *_tokens("time_per_output_token"),
        *result_columns("decode_throughput", "token_throughput"),
        *milliseconds("latency_median", "latency_p90", "latency_p99"),
        *result_columns("energy_per_token_joules"),
    ],
    "r.mode = 'generation'",
)
_TRAINING = _view(
    "training_results",
    "Training: the parts of a step; rows as in `benchmark_performance`.",
    [
        *result_columns("throughput"),
        *milliseconds("latency_median", "forward_median", "loss_median"),
        *milliseconds("backward_median", "optimizer_median"),
        *milliseconds("forward_mean", "loss_mean", "backward_mean", "optimizer_mean"),
        *result_columns("training_loss_first", "training_loss_last"),
        megabytes("memory_mb", "memory_peak_bytes"),
    ],
    "r.mode = 'training'",
)
_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
_STARTUP = _view(
    "startup_results",
    "Cold starts, stage by stage, and many at once; rows as in `benchmark_performance`.",
    [
        *milliseconds("latency_median"),
        *(
            column
            for stage in _STAGES
            for column in result_columns(f"startup_{stage}_mean_s", f"startup_{stage}_stddev_s")
        ),
        *result_columns("concurrent_workers", "concurrent_time_s"),
        *result_columns("concurrent_models_per_second", "concurrent_speedup"),
    ],
    "r.mode = 'startup'",
)
_ARRIVALS = _view(
    "arrival_results",
    "The scenarios `offline` and `server`; rows as in `benchmark_performance`.",
    [
        *result_columns(*ARRIVAL_AXES, "throughput", "achieved_qps"),
        *milliseconds("latency_median", "latency_p90", "latency_p99", "service_median"),
        *result_columns("slo_met", "peak_qps", "search"),
    ],
    "r.scenario <> 'single_stream'",
)
MODE_VIEWS = (_GENERATION, _TRAINING, _STARTUP, _ARRIVALS)
