"""Synthetic results: what a busy laboratory's database may look like, and no device produced.

Every row says `source = 'synthetic'`, so that only a scratch database takes it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb

from orchestrator.store.columns import text
from orchestrator.store.origin import SYNTHETIC
from orchestrator.store.tables import ORIGIN, RECORD
from runner.record import SCHEMA_VERSION

ROWS_A_FILE = 100_000
CELLS_A_RUN = 500
DURATIONS = 50
MODELS = ("bert-base", "bert-tiny", "gpt2", "vit-base", "whisper-tiny", "clip-vit-b32", "detr-r50")
PATHS = (
    ("cpu", "torch"),
    ("cpu", "onnxruntime"),
    ("openvino", "openvino"),
    ("cuda", "torch"),
    ("cuda", "onnxruntime"),
)
PRECISIONS = ("fp32", "bf16", "int8")
BATCHES = (1, 4, 16, 64)
LENGTHS = (32, 128, 512)
HOSTS = 8
FIRST_RUN = "TIMESTAMPTZ '2026-01-01 00:00:00+00'"


def synthesise(folder: Path, rows: int, seed: int) -> Iterator[Path]:
    """Write record files of that many results; the same seed writes the same.

    Durations are log-normal around a median that grows with model, batch and length, with a slow
    tail; a few cells in a hundred failed. Yields each file when it is whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        for first in range(0, rows, ROWS_A_FILE):
            last = min(first + ROWS_A_FILE, rows)
            path = folder / f"synthetic-{seed}-{first:09}.parquet"
            unfinished = path.with_suffix(".tmp")
            connection.execute(
                f"COPY ({_query(first, last, seed)}) TO {text(str(unfinished))}"
                " (FORMAT parquet, COMPRESSION zstd)"
            )
            yield unfinished.replace(path)


def _query(first: int, last: int, seed: int) -> str:
    columns = ", ".join(
        f"({_VALUES.get(column.name, 'NULL')})::{column.type} AS {column.name}"
        for column in (*RECORD, *ORIGIN)
    )
    return f"""
        WITH drawn AS (
            SELECT i, i // {CELLS_A_RUN} AS run, i % {CELLS_A_RUN} AS cell,
                {_uniform("0")} AS luck
            FROM range({first}, {last}) rows(i), (SELECT {seed} AS seed)
        ), cells AS (
            SELECT *, {_pick(MODELS, 1)} AS model,
                {_pick([path[0] for path in PATHS], 7)} AS backend,
                {_pick([path[1] for path in PATHS], 7)} AS runtime,
                {_pick(PRECISIONS, 35)} AS precision,
                {_pick(BATCHES, 105)} AS batch_size,
                {_pick(LENGTHS, 420)} AS sequence_length,
                run % {HOSTS} AS host, luck > 0.03 AS ok
            FROM drawn, (SELECT {seed} AS seed)
        ), timed AS (
            SELECT *, CASE WHEN ok THEN [
                {_DURATION} FOR x IN range(1, {DURATIONS + 1})
            ] END AS durations
            FROM cells
        )
        SELECT {columns} FROM timed
    """


def _uniform(stream: str) -> str:
    """A number between 0 and 1 that follows from seed, row and stream."""
    return f"((hash(seed, i, {stream}) % 1000003 + 0.5) / 1000003)"


def _pick(values: tuple[object, ...] | list[str], stride: int) -> str:
    listed = ", ".join(text(each) if isinstance(each, str) else str(each) for each in values)
    return f"[{listed}][cell // {stride} % {len(values)} + 1]"


_BASE_NS = """
    1e6 * (1 + cell % 7) * (1 + batch_size * 0.6) * (0.5 + sequence_length / 128)
    * CASE backend WHEN 'cuda' THEN 0.1 WHEN 'openvino' THEN 0.7 ELSE 1 END
    * CASE precision WHEN 'fp32' THEN 1 WHEN 'bf16' THEN 0.6 ELSE 0.45 END * (1 + host * 0.1)
"""
_DURATION = f"""
    (({_BASE_NS}) * exp(0.04 * sqrt(-2 * ln({_uniform("x")})) * cos(6.283185 * {_uniform("-x")}))
        * CASE WHEN {_uniform("x + 1000")} > 0.98 THEN 1.5 ELSE 1 END)::BIGINT
"""
_MEDIAN = "list_median(durations) / 1e9"
_RUN = "strftime({first} + to_hours(run), '%Y%m%d-%H%M%S') || '-' || lpad(to_hex(run), 4, '0')"
_CELL = (
    "backend || '-' || runtime || '-' || model || '-' || precision || '-b' || batch_size"
    " || '-s' || sequence_length || '-inference'"
)
_VALUES: Mapping[str, str] = {
    "schema_version": str(SCHEMA_VERSION),
    "run_id": _RUN.format(first=FIRST_RUN),
    "job_id": "backend || '-' || runtime || '-' || model || '-' || precision || '-inference'",
    "cell_id": _CELL,
    "recorded_at": f"{FIRST_RUN} + to_hours(run) + to_seconds(cell * 5)",
    "model": "model",
    "family": "'embedding'",
    "task": "'fill-mask'",
    "modality": "'text'",
    "backend": "backend",
    "runtime": "runtime",
    "precision": "precision",
    "batch_size": "batch_size",
    "sequence_length": "sequence_length",
    "mode": "'inference'",
    "scenario": "'single_stream'",
    "seed": "0",
    "profile": "'quick'",
    "purpose": "'measure'",
    "model_id": "md5(model)[:16]",
    "model_spec": "'{\"name\": \"' || model || '\"}'",
    "job": f"'{{\"id\": \"' || ({_CELL}) || '\"}}'",
    "environment_id": "md5((host + run // 100)::VARCHAR)[:16]",
    "hardware_id": "md5(host::VARCHAR)[:16]",
    "device_name": "'Synthetic device ' || host",
    "cpu_model": "'Synthetic processor ' || host",
    "cpu_flags": "['avx2', 'avx512f', 'fma', 'sse4_2']",
    "cpu_cores_physical": "2",
    "cpu_cores_logical": "4",
    "cpu_affinity": "[0, 1, 2, 3]",
    "memory_total_bytes": "24000000000",
    "machine": "'x86_64'",
    "operating_system": "'Synthetic OS'",
    "kernel": "'6.12.' || run // 100",
    "hostname": "'synthetic-' || host",
    "python_version": "'3.11.9'",
    "libraries": "MAP {'torch': '2.13.0', 'transformers': '5.23.0'}",
    "threads": "4",
    "launcher": "'docker'",
    "image": "'accelmatrix-' || backend || ':0.1.0'",
    "image_digest": "'sha256:' || md5(backend)",
    "git_commit": "md5((run // 100)::VARCHAR)",
    "runner_version": "'0.1.0'",
    "orchestrator_version": "'0.1.0'",
    "status": "CASE WHEN ok THEN 'ok' ELSE 'failed' END",
    "reason": "CASE WHEN NOT ok THEN 'synthetic failure' END",
    "phase": "CASE WHEN NOT ok THEN 'steady' END",
    "proof": "CASE WHEN ok THEN 'proven' ELSE 'none' END",
    "evidence": "CASE WHEN ok THEN MAP {'device': backend} END",
    "correct": "CASE WHEN ok THEN true END",
    "difference_relative": f"CASE WHEN ok THEN 1e-6 * {_uniform('2')} END",
    "grade": "CASE WHEN ok THEN 'A' END",
    "grade_reasons": "CASE WHEN ok THEN [] END",
    "noise_score": f"CASE WHEN ok THEN 0.05 * {_uniform('3')} END",
    "parameters": "CASE WHEN ok THEN 1000000 * (1 + cell % 7) END",
    "import_time_s": f"CASE WHEN ok THEN 1 + {_uniform('4')} END",
    "load_time_s": f"CASE WHEN ok THEN 0.2 + {_uniform('5')} END",
    "first_latency_s": "durations[1] * 2 / 1e9",
    "warmup_iterations": "CASE WHEN ok THEN 3 END",
    "warmup_time_s": "durations[1] * 3 / 1e9",
    "warmup_settled": "ok",
    "warmup_durations_ns": "durations[1:3]",
    "durations_ns": "durations",
    "iterations": "len(durations)",
    "rounds": "CASE WHEN ok THEN 1 END",
    "round_iterations": "CASE WHEN ok THEN [len(durations)] END",
    "steady_time_s": "list_sum(durations) / 1e9",
    "throughput": "batch_size * len(durations) / (list_sum(durations) / 1e9)",
    "latency_mean_s": "list_avg(durations) / 1e9",
    "latency_median_s": _MEDIAN,
    "latency_median_low_s": f"{_MEDIAN} * 0.99",
    "latency_median_high_s": f"{_MEDIAN} * 1.01",
    "latency_precision": "CASE WHEN ok THEN 0.01 END",
    "latency_min_s": "list_min(durations) / 1e9",
    "latency_max_s": "list_max(durations) / 1e9",
    "latency_stddev_s": "list_stddev_samp(durations) / 1e9",
    "latency_cv": "list_stddev_samp(durations) / list_avg(durations)",
    "latency_p50_s": "list_aggregate(durations, 'quantile_cont', 0.5) / 1e9",
    "memory_peak_bytes": "CASE WHEN ok THEN (300000000 + 1000000 * cell)::BIGINT END",
    "memory_method": "'cgroup peak'",
    "energy_method": "'unavailable: synthetic'",
    "source": text(SYNTHETIC),
    "simulated": "true",
}
