"""The view of efficiency: counted work by measured time, beside the peaks of the same machine.

It is a roofline in rows (Williams, Waterman and Patterson 2009). Filling a cache and extending it
are rows of their own, since the one is bound by arithmetic where the other is bound by memory.
"""

from orchestrator.store.schema.result_views import COLUMNS_OF_PARTS
from orchestrator.store.schema.tables import RESULTS
from orchestrator.store.schema.view import (
    OWN_ROWS,
    TRUSTED,
    View,
    ViewColumn,
    joined_results,
    result_columns,
    select_list,
    view_columns,
)

GIGA = 1_000_000_000
_MEGA = 1_000_000

_PARTS = f"""(
    SELECT r.*, unnest(CASE r.mode
        WHEN 'generation' THEN [
            {{'name': 'prefill', 'flops': r.prefill_flops, 'bytes': r.prefill_bytes,
                'passes': 1, 'seconds': r.time_to_first_token_median_s}},
            {{'name': 'decode', 'flops': r.flops_per_iteration - r.prefill_flops,
                'bytes': r.bytes_per_iteration - r.prefill_bytes, 'passes': r.new_tokens - 1,
                'seconds': r.time_per_output_token_median_s * (r.new_tokens - 1)}}]
        ELSE [
            {{'name': CASE r.mode WHEN 'training' THEN 'step' ELSE 'query' END,
                'flops': r.flops_per_iteration, 'bytes': r.bytes_per_iteration, 'passes': 1,
                'seconds': coalesce(r.service_median_s, r.latency_median_s)}}]
        END) AS part
    FROM {RESULTS.name} r WHERE r.flops_per_iteration IS NOT NULL
)"""
_HIGHEST = f"FROM {RESULTS.name} r WHERE {OWN_ROWS} AND r.hardware_id IS NOT NULL GROUP BY ALL"
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
_COLUMNS = [
    *COLUMNS_OF_PARTS,
    ViewColumn(
        "part",
        "r.part.name",
        "VARCHAR",
        "What the row is about: a `query`, a training `step`; of a generation the `prefill` up to"
        " the first token and the `decode` of all others.",
    ),
    ViewColumn(
        "time_ms",
        "r.part.seconds * 1000",
        "DOUBLE",
        "Its median time, milliseconds; in `server` without waiting.",
    ),
    ViewColumn("gflop", f"r.part.flops / {GIGA}", "DOUBLE", "Its arithmetic as counted, 10⁹ FLOP."),
    ViewColumn(
        "traffic_mb",
        f"r.part.bytes / {_MEGA}",
        "DOUBLE",
        "What it must read or write at least, megabytes (1,000,000 bytes): weights, inputs,"
        " outputs, cached tokens.",
    ),
    ViewColumn(
        "gflop_per_s", f"{_RATE} / {GIGA}", "DOUBLE", "Arithmetic achieved, 10⁹ FLOP per second."
    ),
    ViewColumn(
        "gb_per_s",
        f"{_TRAFFIC} / {GIGA}",
        "DOUBLE",
        "Traffic achieved, 10⁹ bytes per second: no more than the least that must move counts.",
    ),
    ViewColumn("intensity", _INTENSITY, "DOUBLE", "Arithmetic intensity, FLOP per byte."),
    ViewColumn(
        "peak_gflop_per_s",
        f"product.best / {GIGA}",
        "DOUBLE",
        "Highest rate of a product of matrices that any runtime reached on this machine in this"
        " precision with as many threads, 10⁹ FLOP per second; null where none was measured.",
    ),
    ViewColumn(
        "peak_gb_per_s",
        f"copy.best / {GIGA}",
        "DOUBLE",
        "Highest rate of a copy that any job reached on this machine with as many threads, 10⁹"
        " bytes per second, read and written; null where none was measured.",
    ),
    ViewColumn(
        "mfu",
        f"{_RATE} / product.best",
        "DOUBLE",
        "Model FLOPs utilisation: arithmetic achieved by that measured peak, 0.5 for half of it.",
    ),
    ViewColumn(
        "mbu",
        f"CASE WHEN NOT {_IN_CACHE} THEN {_TRAFFIC} / copy.best END",
        "DOUBLE",
        "Model bandwidth utilisation: traffic achieved by that measured peak; null where what it"
        " moves fits in the device's last cache, so that memory does not limit it.",
    ),
    ViewColumn(
        "bound",
        f"CASE WHEN {_IN_CACHE} THEN 'compute'"
        f" WHEN {_INTENSITY} < product.best / copy.best THEN 'memory'"
        " WHEN product.best / copy.best IS NOT NULL THEN 'compute' END",
        "VARCHAR",
        "The lower of both roofs at this intensity: `compute` or `memory`; null where one is not"
        " known.",
    ),
    *result_columns("device_cache_bytes", "peak_method"),
]
EFFICIENCY = View(
    "efficiency",
    "Arithmetic and memory traffic per second, counted from the model, as shares of the highest"
    " peaks that were measured on the same machine.",
    view_columns(_COLUMNS),
    f"SELECT {select_list(_COLUMNS)} FROM {joined_results(_PARTS)}{_PEAKS}"
    f" WHERE {TRUSTED} AND r.part.seconds > 0 AND r.part.flops > 0"
    " AND r.part.bytes > 0",
)
