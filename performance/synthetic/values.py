"""Columns of a synthetic record, as SQL over the drawn values."""

from collections.abc import Mapping

from analysis.results.source import text
from orchestrator.store.schema.tables import SYNTHETIC
from performance.synthetic.cells import COMMIT, DIGEST, HOST, RUN
from performance.synthetic.draw import DURATIONS, WARMUPS, spread, uniform
from performance.synthetic.parts import PART_VALUES
from runner.contract.axes import AXIS_NAMES
from runner.contract.record.record import SCHEMA_VERSION

DRAWN = (
    *("cell_id", "job_id", "model", "family", "task", "modality", *AXIS_NAMES[1:]),
    *("model_id", "model_spec", "status"),
    *("hardware_id", "device_name", "cpu_model", "cpu_flags", "cpu_cores_physical"),
    *("cpu_cores_logical", "cpu_affinity", "memory_total_bytes", "hostname"),
    *("environment_id", "operating_system", "kernel", "python_version", "libraries", "image"),
    *("image_digest", "image_labels", "git_commit", "runner_version", "orchestrator_version"),
)
"""Columns that stand there under their own names."""


def _if_ok(expression: str) -> str:
    return f"CASE WHEN ok THEN {expression} END"


def _doubt(code: str, value: str, remedy: str) -> str:
    facts = "MAP([], [])::MAP(VARCHAR, VARCHAR)"
    return (
        f"{{'code': '{code}', 'grade': 'C', 'value': ({value})::DOUBLE, 'remedy': '{remedy}',"
        f" 'facts': {facts}}}"
    )


_RUN = "strftime(started_at, '%Y%m%d-%H%M%S-') || substr(md5(run::VARCHAR), 1, 4)"
_JOB = (
    f"replace(replace(replace(replace(job, '{RUN}', {_RUN}), '{HOST}', hostname),"
    f" '{DIGEST}', image_digest), '{COMMIT}', git_commit)"
)
_REASON = """CASE status
    WHEN 'unsupported' THEN refusal
    WHEN 'unavailable' THEN 'no CUDA device is visible'
    WHEN 'out_of_memory' THEN 'killed at ' || (room_bytes / 1e9)::DECIMAL(9, 1) || ' GB of memory'
    WHEN 'lost' THEN 'the runner died with signal 9 and left no record'
    WHEN 'failed' THEN 'RuntimeError: no kernel for this operator in ' || runtime || ' '
        || map_values(libraries)[1]
    WHEN 'timeout' THEN 'no progress for 600 s' END
"""
_IDENTITY = {
    "schema_version": str(SCHEMA_VERSION),
    "run_id": _RUN,
    "recorded_at": f"started_at + to_milliseconds((29000 * place + 20000 * {uniform(10)})::BIGINT)",
    "seed": "0",
    "weights_seed": "0",
    "profile": "'quick'",
    "purpose": "'measure'",
    "job": _JOB,
    "machine": "'x86_64'",
    "threads": "greatest(1, cpu_cores_physical)",
    "cpu_governor": "CASE WHEN host < 6 THEN 'performance' ELSE 'powersave' END",
    "launcher": "'docker'",
}
_DIFFERENCE = (
    "(CASE precision WHEN 'fp32' THEN 2e-6 WHEN 'int8' THEN 0.04 ELSE 3e-3 END"
    f" * {spread(22, 0.5)})"
)
_TOLERANCE = "(CASE precision WHEN 'fp32' THEN 1e-5 WHEN 'int8' THEN 0.2 ELSE 0.02 END)"
_TRUST = {
    "reason_code": "CASE WHEN NOT ok THEN 'said' END",
    "reason_facts": f"CASE WHEN NOT ok THEN MAP {{'text': {_REASON}}} END",
    "phase": """CASE status WHEN 'ok' THEN NULL WHEN 'unsupported' THEN 'plan'
        WHEN 'unavailable' THEN 'load' WHEN 'out_of_memory' THEN 'first' ELSE 'steady' END""",
    "proof": f"""CASE WHEN NOT ok THEN 'none' WHEN {uniform(20)} < 0.004 THEN 'contradicted'
        WHEN {uniform(20)} < 0.015 THEN 'partial' ELSE 'proven' END""",
    "evidence": _if_ok("MAP {'device': backend, 'name': device_name}"),
    "correct": _if_ok(
        f"CASE WHEN {uniform(21)} < 0.03 THEN NULL"
        " ELSE NOT (precision = 'int8' AND model = 'clip-vit-base-patch32') END"
    ),
    "correct_code": _if_ok(
        f"CASE WHEN {uniform(21)} < 0.03 THEN 'not_verified'"
        " WHEN precision = 'int8' AND model = 'clip-vit-base-patch32' THEN 'outputs_differ' END"
    ),
    "correct_facts": _if_ok(
        "CASE WHEN precision = 'int8' AND model = 'clip-vit-base-patch32' THEN MAP"
        " {'difference': '0.31', 'output': 'logits', 'precision': 'int8', 'allowed': '0.2'} END"
    ),
    "verified_shape": _if_ok("'b2-s32'"),
    "difference_relative": _if_ok(_DIFFERENCE),
    "difference_row": _if_ok(f"1.8 * {_DIFFERENCE}"),
    "difference_mean": _if_ok(f"0.3 * {_DIFFERENCE}"),
    "difference_shared": _if_ok(f"0.2 * {_DIFFERENCE}"),
    "difference_where": _if_ok("'relative of logits'"),
    "tolerance": _if_ok(_TOLERANCE),
    "tolerance_row": _if_ok(f"2 * {_TOLERANCE}"),
    "tolerance_mean": _if_ok(f"0.5 * {_TOLERANCE}"),
    "tolerance_shared": _if_ok(f"0.5 * {_TOLERANCE}"),
    "tolerance_share": _if_ok(f"{_DIFFERENCE} / {_TOLERANCE}"),
    "cosine_similarity": _if_ok(f"1 - 1e-7 * {uniform(23)}"),
    "grade": _if_ok(
        "CASE WHEN cv > 1 THEN 'D' WHEN cv > 0.3 OR busy THEN 'C' WHEN cv > 0.1 THEN 'B'"
        " ELSE 'A' END"
    ),
    "doubts": _if_ok(
        f"list_concat(CASE WHEN cv > 0.1 THEN [{_doubt('scatter', 'cv', 'longer_or_quieter')}]"
        " ELSE [] END,"
        f" CASE WHEN busy THEN [{_doubt('other_load', '0.34', 'stop_them')}] ELSE [] END)"
    ),
    "noise_score": _if_ok("noise_now * 3"),
    "noise_steal": _if_ok(f"CASE WHEN host >= 10 THEN 0.01 * {uniform(24)} ELSE 0 END"),
    "noise_other_load": _if_ok(f"CASE WHEN busy THEN 0.34 ELSE 0.02 * {uniform(25)} END"),
    "noise_kernel_spread_before": _if_ok("noise_now * 1.5"),
    "noise_kernel_spread_after": _if_ok("noise_now * 1.4"),
    "noise_kernel_shift": _if_ok(f"noise_now * ({uniform(26)} - 0.5)"),
    "noise_involuntary_switches": _if_ok(f"(40 * {uniform(24)})::BIGINT"),
    "load_average_1m": f"cpu_cores_logical * (0.3 + 0.4 * {uniform(27)})",
    "clock_resolution_s": _if_ok("4e-8"),
    "harness_overhead_s": _if_ok(f"1.1e-5 * {spread(28, 0.1)}"),
    "garbage_collection": _if_ok("'collected and frozen before the warm-up, off while timed'"),
}
_WINDOW_NS = f"CASE WHEN scenario = 'server' THEN {DURATIONS} / target_qps * 1e9 ELSE total_ns END"
_TIMING = {
    "parameters": _if_ok("parameters"),
    "import_time_s": _if_ok(
        f"CASE runtime WHEN 'torch' THEN 2.4 ELSE 0.2 END * {spread(30, 0.1)} / speed"
    ),
    "load_time_s": _if_ok(f"(0.1 + parameters / 4e8) * {spread(31, 0.2)}"),
    "first_latency_s": "warmups[1] / 1e9",
    "warmup_iterations": "len(warmups) - 1",
    "warmup_time_s": f"list_sum(warmups[2:{WARMUPS}]) / 1e9",
    "warmup_settled": _if_ok("NOT busy"),
    "timed_region": _if_ok("'one query; inputs and outputs stay on the device'"),
    "iterations": "len(durations)",
    "rounds": _if_ok("CASE WHEN two_rounds THEN 2 ELSE 1 END"),
    "round_iterations": _if_ok(
        f"CASE WHEN two_rounds THEN [{DURATIONS // 2}, {DURATIONS // 2}] ELSE [{DURATIONS}] END"
    ),
    "steady_time_s": f"({_WINDOW_NS}) / 1e9",
    "throughput": f"batch_size * len(durations) * 1e9 / ({_WINDOW_NS})",
    "latency_mean_s": "mean_ns / 1e9",
    "latency_median_s": "median_ns / 1e9",
    # The order statistics that enclose the median of 50 with 95 % confidence.
    "latency_median_low_s": "ordered[18] / 1e9",
    "latency_median_high_s": "ordered[33] / 1e9",
    "latency_precision": "(ordered[33] - ordered[18]) / 2 / median_ns",
    "latency_min_s": "ordered[1] / 1e9",
    "latency_max_s": f"ordered[{DURATIONS}] / 1e9",
    "latency_stddev_s": "deviation_ns / 1e9",
    "latency_mad_s": "mad_ns / 1e9",
    "latency_cv": "cv",
    "latency_p50_s": "median_ns / 1e9",
    "percentile_iterations_needed": _if_ok(
        "MAP {'p50': 11, 'p90': 64, 'p95': 130, 'p99': 662, 'p999': 6636}"
    ),
    "outliers": "len([each FOR each IN durations IF"
    " 0.6745 * abs(each - median_ns) > 3.5 * mad_ns])",
    "autocorrelation": "neighbours",
    "effective_iterations": f"{DURATIONS} * (1 - greatest(neighbours, 0))"
    " / (1 + greatest(neighbours, 0))",
    "drift": "CASE WHEN two_rounds THEN last_half_ns / first_half_ns - 1 END",
    "drift_p_value": "CASE WHEN two_rounds THEN least(1, 2 / (1 + exp(1.702"
    " * abs(last_half_ns / first_half_ns - 1) / (0.35 * cv)))) END",
    "warmup_durations_ns": "warmups",
    "durations_ns": "durations",
}
_ENERGY = _if_ok(f"watts * ({_WINDOW_NS}) / 1e9 * {spread(40, 0.05)}")
_RESOURCES = {
    "memory_peak_bytes": _if_ok(f"(memory_bytes * {spread(41, 0.01)})::BIGINT"),
    "memory_average_bytes": _if_ok("(memory_bytes * 0.93)::BIGINT"),
    "memory_load_peak_bytes": _if_ok("(memory_bytes * 0.9)::BIGINT"),
    "memory_baseline_bytes": _if_ok("40000000"),
    "memory_method": _if_ok("'cgroup peak'"),
    "page_faults": _if_ok(f"40 * {uniform(24)}"),
    "page_fault_s": _if_ok("1e-6"),
    "energy_joules": _ENERGY,
    "energy_per_sample_joules": (
        f"CASE WHEN mode <> 'startup' THEN ({_ENERGY}) / (batch_size * {DURATIONS}) END"
    ),
    "energy_per_token_joules": f"({_ENERGY}) / (batch_size * new_tokens * {DURATIONS})",
    "energy_window_s": f"CASE WHEN watts IS NOT NULL THEN ({_WINDOW_NS}) / 1e9 END",
    "energy_method": _if_ok(
        "CASE WHEN watts IS NULL THEN 'unavailable: /sys/class/powercap shows no RAPL packages'"
        " ELSE 'RAPL, package' END"
    ),
}
_PASS = "2.0 * parameters * batch_size * coalesce(sequence_length, 64)"
_WORK = (
    f"({_PASS} * CASE mode WHEN 'training' THEN 3 ELSE 1 END"
    " + 2.0 * parameters * batch_size * (coalesce(new_tokens, 1) - 1))"
)
_WEIGHTS = "4.0 * parameters"
_EFFICIENCY = {
    name: f"CASE WHEN ok AND mode <> 'startup' THEN {value} END"
    for name, value in {
        "flops_per_iteration": f"({_WORK})::BIGINT",
        "bytes_per_iteration": f"({_WEIGHTS} * coalesce(new_tokens, 1))::BIGINT",
        "prefill_flops": f"CASE WHEN new_tokens IS NOT NULL THEN ({_PASS})::BIGINT END",
        "prefill_bytes": f"CASE WHEN new_tokens IS NOT NULL THEN ({_WEIGHTS})::BIGINT END",
        # Above whatever the cell reaches, as a product of large matrices is.
        "peak_flops_per_s": f"4e9 * {_WORK} / ordered[1]",
        "peak_bytes_per_s": f"4e9 * {_WEIGHTS} * coalesce(new_tokens, 1) / ordered[1]",
        "peak_method": "'torch.mm and Tensor.copy_ in torch.float32'",
        "device_cache_bytes": "33554432",
    }.items()
}
_ORIGIN = {"source": text(SYNTHETIC), "simulated": "true", "marks": "['synthetic']"}

VALUES: Mapping[str, str] = {
    **{name: name for name in DRAWN},
    **_IDENTITY,
    **_TRUST,
    **_TIMING,
    **PART_VALUES,
    **_RESOURCES,
    **_EFFICIENCY,
    **_ORIGIN,
    "part_durations_ns": "parts",
}
"""An expression for each column that is not null."""
