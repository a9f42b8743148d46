"""Parts of the iterations that one mode or scenario records, split from the durations."""

from collections.abc import Iterator, Mapping

from performance.synthetic.cells import NEW_TOKENS
from performance.synthetic.draw import DURATIONS, spread

_STEP = {"forward": 0.31, "loss": 0.02, "backward": 0.55, "optimizer": 0.12}
_STAGES = {
    "interpreter": 0.05,
    "import": 0.5,
    "instantiate": 0.2,
    "weights": 0.15,
    "first_query": 0.1,
}
_FIRST = "(each * 0.4)::BIGINT"
_GAPS = NEW_TOKENS - 1
_GAP = f"(each - {_FIRST}) // {_GAPS}"


def _shares(shares: Mapping[str, float]) -> str:
    return _map({name: f"[(each * {share})::BIGINT{_EACH}]" for name, share in shares.items()})


def _map(parts: Mapping[str, str]) -> str:
    return "MAP {" + ", ".join(f"'{name}': {durations}" for name, durations in parts.items()) + "}"


_EACH = " FOR each IN durations"
_LAST_GAP = f"each - {_FIRST} - {_GAPS - 1} * ({_GAP})"
_GENERATION = {
    "first_token": f"[{_FIRST}{_EACH}]",
    "output_token": f"flatten([[{', '.join([_GAP] * (_GAPS - 1))}, {_LAST_GAP}]{_EACH}])",
}
PARTS = f"""CASE WHEN NOT ok THEN NULL
    WHEN mode = 'generation' THEN {_map(_GENERATION)}
    WHEN mode = 'training' THEN {_shares(_STEP)}
    WHEN mode = 'startup' THEN {_shares(_STAGES)}
    WHEN scenario = 'server' THEN {_shares({"service": 0.9})} END
"""
"""Raw durations by the part's name; null where the whole is all that is measured."""


def _statistics(column: str, part: str, *wanted: str) -> Iterator[tuple[str, str]]:
    for name in wanted:
        values = _STATISTICS[name].format(parts=f"parts['{part}']")
        yield f"{column}_{name}_s", f"{values} / 1e9"


_QUANTILE = "list_aggregate({{parts}}, 'quantile_cont', {quantile})"
_STATISTICS = {
    "mean": "list_avg({parts})",
    "median": "list_median({parts})",
    "stddev": "list_stddev_samp({parts})",
    "p50": "list_median({parts})",
    "p90": _QUANTILE.format(quantile=0.9),
    "p95": _QUANTILE.format(quantile=0.95),
}
_WHOLE = ("mean", "median", "stddev", "p50")
_SPEEDS = "[0.3, 0.5, 0.75, 0.93, 1.0, 1.0, 0.99]"
_CURVE = {
    "batches": "[1, 2, 4, 8, 16, 32, 64]",
    "queries": "[30, 30, 12, 9, 60, 6, 3]",
    "throughputs": f"[share * 16e9 / median_ns FOR share IN {_SPEEDS}]",
    "latencies_s": f"[pow(2, nth - 1) * median_ns / 16e9 / {_SPEEDS}[nth] FOR nth IN range(1, 8)]",
    "memory_bytes": "[(memory_bytes * 0.9 + 3e6 * pow(2, nth))::BIGINT FOR nth IN range(7)]",
}
_PER_GENERATION = f"""CASE WHEN mode = 'generation' THEN list_transform(
    list_zip(durations, parts['first_token']), lambda each: (each[1] - each[2]) / {_GAPS}) END"""
PART_VALUES: Mapping[str, str] = {
    **dict(_statistics("time_to_first_token", "first_token", *_WHOLE)),
    **dict(_statistics("inter_token_latency", "output_token", *_WHOLE, "p90", "p95")),
    **{
        f"time_per_output_token_{name}_s": _STATISTICS[name].format(parts=_PER_GENERATION)
        + " / 1e9"
        for name in _WHOLE
    },
    "decode_throughput": f"batch_size * {DURATIONS * _GAPS} * 1e9"
    " / list_sum(parts['output_token'])",
    "token_throughput": f"batch_size * new_tokens * {DURATIONS} * 1e9 / total_ns",
    **{name: value for part in _STEP for name, value in _statistics(part, part, "mean", "median")},
    "training_loss_first": f"CASE WHEN ok AND mode = 'training' THEN 10.8 * {spread(50, 0.02)} END",
    "training_loss_last": f"CASE WHEN ok AND mode = 'training' THEN 7.1 * {spread(51, 0.05)} END",
    **{
        name: f"CASE WHEN ok AND mode = 'training' {condition} THEN {value} END"
        for name, condition, value in (
            ("training_scale", "AND precision = 'fp16'", "8192"),
            ("training_steps_skipped", "AND precision = 'fp16'", "0"),
            ("training_changed_share", "", "1"),
            ("gradients_compared", "", "40"),
            ("gradient_difference", "", f"0.002 * {spread(52, 0.2)}"),
            ("gradient_tolerance", "", "0.04"),
            ("gradient_where", "", "'gradient of decoder.weight'"),
        )
    },
    **{
        name: value
        for stage in _STAGES
        for name, value in _statistics(f"startup_warm_{stage}", stage, "median")
    },
    "concurrent_workers": "CASE WHEN ok AND mode = 'startup' THEN 2 END",
    "concurrent_time_s": "CASE WHEN mode = 'startup' THEN mean_ns * 1.3 / 1e9 END",
    "concurrent_models_per_second": "CASE WHEN mode = 'startup' THEN 2e9 / (mean_ns * 1.3) END",
    "concurrent_speedup": "CASE WHEN mode = 'startup' THEN 2 * median_ns / (mean_ns * 1.3) END",
    "achieved_qps": "CASE WHEN ok THEN target_qps END",
    **{
        f"offline_{name}": f"CASE WHEN ok AND scenario = 'offline' THEN {value} END"
        for name, value in _CURVE.items()
    },
    "service_median_s": "list_median(parts['service']) / 1e9",
}
"""An expression for each column that a mode or a scenario fills."""
