"""Views of what one mode or scenario measures, and of its efficiency."""

from orchestrator.store.schema.result_views import (
    COLUMNS_OF_PARTS,
    PERCENTILES_WITH_BOUNDS,
    RESULT_COLUMNS,
    VERDICT_COLUMNS,
)
from orchestrator.store.schema.view import (
    MEGABYTE,
    OWN_ROWS,
    TRUSTED,
    View,
    ViewColumn,
    columns,
    columns_of_metrics,
    joined_results,
    joined_verdicts,
    select_list,
    view,
)


def _beside(known: list[ViewColumn], shown: list[ViewColumn]) -> list[ViewColumn]:
    names = {column.name for column in known}
    return [*known, *(column for column in shown if column.name not in names)]


def _of_mode(
    name: str,
    doc: str,
    shown: list[ViewColumn],
    condition: str,
    known: list[ViewColumn] = RESULT_COLUMNS,
) -> View:
    return view(
        name,
        f"{doc}; rows and columns of `benchmark_performance`, with more of their own.",
        _beside(known, [*shown, *columns_of_metrics(name, shown)]),
        f"{joined_results()} WHERE {TRUSTED} AND {condition}",
    )


def _without_samples(known: list[ViewColumn]) -> list[ViewColumn]:
    return [column for column in known if column.name != "throughput"]


def _tokens(time: str, *interval: str) -> list[ViewColumn]:
    statistics = ("mean", "median", *interval, "stddev", "p50", *PERCENTILES_WITH_BOUNDS)
    return columns(" ".join(f"{time}_{statistic}_ms" for statistic in statistics))


_GENERATED = [
    *_tokens("time_to_first_token", "median_low", "median_high"),
    *_tokens("time_per_output_token", "median_low", "median_high"),
    *_tokens("inter_token_latency"),
    *columns("token_agreement"),
]
_IS_GENERATION = "r.mode = 'generation'"
GENERATION = _of_mode(
    "generation_results",
    "Generation: prefill and decode apart",
    _GENERATED,
    _IS_GENERATION,
    _without_samples(RESULT_COLUMNS),
)
GENERATION_ALL = (
    f"SELECT {select_list(_beside(_without_samples(VERDICT_COLUMNS), _GENERATED))}"
    f" FROM {joined_verdicts()} WHERE {_IS_GENERATION}"
)
"""The question for all verdicts on generation, under the columns of that view."""
_TRAINING = _of_mode(
    "training_results",
    "Training: the parts of a step",
    [
        *columns("forward_median_ms loss_median_ms backward_median_ms optimizer_median_ms"),
        *columns("forward_mean_ms loss_mean_ms backward_mean_ms optimizer_mean_ms"),
        *columns("training_loss_first training_loss_last training_scale training_steps_skipped"),
        *columns("training_changed_share gradient_difference gradient_tolerance gradient_where"),
    ],
    "r.mode = 'training'",
)
_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
_STARTUP = _of_mode(
    "startup_results",
    "Starts with files in memory (warm) and from the disk (cold), by stage, and many at once",
    [
        *columns(" ".join(f"startup_warm_{stage}_median_s" for stage in _STAGES)),
        *columns("startup_cold_median_s startup_cold_median_low_s startup_cold_median_high_s"),
        *columns(" ".join(f"startup_cold_{stage}_median_s" for stage in _STAGES)),
        *columns("startup_cold_resident_share concurrent_workers concurrent_time_s"),
        *columns("concurrent_models_per_second concurrent_speedup"),
    ],
    "r.mode = 'startup'",
)
_ARRIVALS = _of_mode(
    "arrival_results",
    "The scenarios `offline` and `server`",
    columns("service_median_ms slo_met search"),
    "r.scenario <> 'single_stream'",
)
_CURVE_ROWS = """(
    SELECT *, unnest(range(1, len(offline_batches) + 1)) AS i
    FROM benchmark_results WHERE offline_batches IS NOT NULL
)"""
"""A row for each position in the lists of the curve."""
_CURVE = view(
    "offline_curve",
    "Throughput, latency and memory of each batch that the scenario `offline` tried, a row each.",
    [
        *(
            ViewColumn("batch_size", "r.offline_batches[r.i]", "The batch tried.", column.type)
            if column.name == "batch_size"
            else column
            for column in COLUMNS_OF_PARTS
        ),
        ViewColumn("queries", "r.offline_queries[r.i]", "Queries at this batch.", "BIGINT"),
        ViewColumn(
            *("throughput", "r.offline_throughputs[r.i]"),
            "Samples per second at this batch, by the median of its queries.",
        ),
        ViewColumn(
            *("latency_median_ms", "r.offline_latencies_s[r.i] * 1000"),
            "Median time of a query at this batch, milliseconds.",
        ),
        ViewColumn(
            *("memory_mb", f"r.offline_memory_bytes[r.i] / {MEGABYTE}"),
            "Highest memory use at this batch, megabytes (1,000,000 bytes).",
        ),
        ViewColumn(
            *("found", "r.offline_batches[r.i] = r.batch_size"),
            "Whether this is the batch that was found, and then measured for the result itself.",
            "BOOLEAN",
        ),
    ],
    f"{joined_results(_CURVE_ROWS)} WHERE {TRUSTED}",
)
MODE_VIEWS = (GENERATION, _TRAINING, _STARTUP, _ARRIVALS, _CURVE)


GIGA = 1_000_000_000
_PARTS = """(
    SELECT r.*, unnest(CASE r.mode
        WHEN 'generation' THEN [
            {'name': 'prefill', 'flops': r.prefill_flops, 'bytes': r.prefill_bytes,
                'passes': 1, 'seconds': r.time_to_first_token_median_s},
            {'name': 'decode', 'flops': r.flops_per_iteration - r.prefill_flops,
                'bytes': r.bytes_per_iteration - r.prefill_bytes, 'passes': r.new_tokens - 1,
                'seconds': r.time_per_output_token_median_s * (r.new_tokens - 1)}]
        ELSE [
            {'name': CASE r.mode WHEN 'training' THEN 'step' ELSE 'query' END,
                'flops': r.flops_per_iteration, 'bytes': r.bytes_per_iteration, 'passes': 1,
                'seconds': coalesce(r.service_median_s, r.latency_median_s)}]
        END) AS part
    FROM benchmark_results r WHERE r.flops_per_iteration IS NOT NULL
)"""
_HIGHEST = f"FROM benchmark_results r WHERE {OWN_ROWS} AND r.hardware_id IS NOT NULL GROUP BY ALL"
_PEAKS = f"""
    LEFT JOIN (
        SELECT r.hardware_id, r.threads, r.precision, max(r.peak_flops_per_s) AS best {_HIGHEST}
    ) product ON product.hardware_id = r.hardware_id AND product.precision = r.precision
        AND product.threads IS NOT DISTINCT FROM r.threads
    LEFT JOIN (
        SELECT r.hardware_id, r.threads, max(r.peak_bytes_per_s) AS best {_HIGHEST}
    ) copy ON copy.hardware_id = r.hardware_id AND copy.threads IS NOT DISTINCT FROM r.threads
"""
_RATE = "r.part.flops / r.part.seconds"
_TRAFFIC = "r.part.bytes / r.part.seconds"
_INTENSITY = "r.part.flops / r.part.bytes"
_IN_CACHE = "coalesce(r.part.bytes / r.part.passes <= r.device_cache_bytes, false)"
_EFFICIENCY = [
    ViewColumn(
        *("part", "r.part.name"),
        "What the row is about: a `query`, a training `step`; of a generation the `prefill` up to"
        " the first token and the `decode` of all others.",
        "VARCHAR",
    ),
    ViewColumn(
        *("time_ms", "r.part.seconds * 1000"),
        "Its median time, milliseconds; in `server` without waiting.",
    ),
    ViewColumn("gflop", f"r.part.flops / {GIGA}", "Its arithmetic as counted, 10⁹ FLOP."),
    ViewColumn(
        *("traffic_mb", f"r.part.bytes / {MEGABYTE}"),
        "What it must read or write at least, megabytes (1,000,000 bytes): weights, inputs,"
        " outputs, cached tokens.",
    ),
    ViewColumn("gflop_per_s", f"{_RATE} / {GIGA}", "Arithmetic achieved, 10⁹ FLOP per second."),
    ViewColumn(
        *("gb_per_s", f"{_TRAFFIC} / {GIGA}"),
        "Traffic achieved, 10⁹ bytes per second: no more than the least that must move counts.",
    ),
    ViewColumn("intensity", _INTENSITY, "Arithmetic intensity, FLOP per byte."),
    ViewColumn(
        *("peak_gflop_per_s", f"product.best / {GIGA}"),
        "Highest rate of a product of matrices that any runtime reached on this machine in this"
        " precision with as many threads, 10⁹ FLOP per second; null where none was measured.",
    ),
    ViewColumn(
        *("peak_gb_per_s", f"copy.best / {GIGA}"),
        "Highest rate of a copy that any job reached on this machine with as many threads, 10⁹"
        " bytes per second, read and written; null where none was measured.",
    ),
    ViewColumn(
        *("mfu", f"{_RATE} / product.best"),
        "Model FLOPs utilisation: arithmetic achieved by that measured peak, 0.5 for half of it.",
    ),
    ViewColumn(
        *("mbu", f"CASE WHEN NOT {_IN_CACHE} THEN {_TRAFFIC} / copy.best END"),
        "Model bandwidth utilisation: traffic achieved by that measured peak; null where what it"
        " moves fits in the device's last cache, so that memory does not limit it.",
    ),
    ViewColumn(
        "bound",
        f"CASE WHEN {_IN_CACHE} THEN 'compute'"
        f" WHEN {_INTENSITY} < product.best / copy.best THEN 'memory'"
        " WHEN product.best / copy.best IS NOT NULL THEN 'compute' END",
        "The lower of both roofs at this intensity: `compute` or `memory`; null where one is not"
        " known.",
        "VARCHAR",
    ),
    *columns("device_cache_bytes peak_method"),
]
EFFICIENCY = view(
    "efficiency",
    "Arithmetic and memory traffic per second, counted from the model, as shares of the highest"
    " peaks that were measured on the same machine.",
    [*COLUMNS_OF_PARTS, *_EFFICIENCY],
    f"{joined_results(_PARTS)}{_PEAKS} WHERE {TRUSTED} AND r.part.seconds > 0 AND r.part.flops > 0"
    " AND r.part.bytes > 0",
)
