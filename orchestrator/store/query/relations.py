"""Views and tables in a line each, and what is shown of one that is asked for by its name alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.results.metrics import METRICS
from orchestrator.store.schema.tables import TABLES
from orchestrator.store.schema.views import VIEWS
from runner.contract.errors import UsageError

_NAME = re.compile(r"\s*(\w+)\s*;?\s*")


@dataclass(frozen=True)
class Relation:
    """A view or a table, for somebody who does not know it yet."""

    name: str
    use: str
    """Its purpose, short enough to stand beside its name on 80 columns."""
    columns: Sequence[str]
    """The most useful columns, the ones to keep first."""
    order: str


def _relation(name: str, use: str, columns: str, order: str) -> Relation:
    return Relation(name, use, columns.split(), order)


_CELL = "model runtime precision batch_size"
_MACHINE = "hardware hostname launcher backend"
_END = "measured_at result_id"
_GOOD_FIRST = "grade IS NOT DISTINCT FROM 'D'"


def _of_mode(view: str, use: str, columns: str, order: str, more: str = "") -> Relation:
    """A view of one mode: the cell, numbers, those of all its other metrics, and the machine."""
    metrics = [metric.column for metric in METRICS.values() if metric.view == view]
    others = " ".join(name for name in metrics if name not in columns.split())
    whole = f"model runtime precision {columns} {others} {_MACHINE} {more} {_END}"
    return _relation(view, use, whole, f"{order}, result_id")


_RESULT = (
    f"{_CELL} latency_median_ms throughput grade off memory_mb latency_precision sequence_length"
    f" mode scenario profile {_MACHINE} {_END}"
)
_VERDICT = (
    f"{_CELL} status proof correct grade latency_median_ms throughput reason mode source {_MACHINE}"
    f" {_END}"
)
_FAILURE = (
    f"{_CELL} status reason remedy phase mode hostname launcher recorded_at result_id",
    "recorded_at DESC, result_id",
)
_COMBINATION = "model, backend, runtime, precision, mode"
_COMPATIBLE = (
    "model backend runtime precision mode status cells_ok cells proof correct reason hostname"
    " source measured_at",
    _COMBINATION,
)
_FASTEST = f"mode, scenario, model, {_GOOD_FIRST}, throughput DESC NULLS LAST, result_id"
_NEWEST = "measured_at DESC NULLS LAST, result_id"
RELATIONS = (
    _relation(
        *("latest_results", "the newest result of each cell and machine"),
        _RESULT.replace("grade", "grade better_grade"),
        _FASTEST,
    ),
    _relation("benchmark_performance", "every result that may be quoted", _RESULT, _NEWEST),
    _relation(
        *("history", "how a result changed from one measurement to the next"),
        f"{_CELL} latency_median_ms ratio grade measured_at previous_median_ms previous_grade mode"
        f" scenario profile {_MACHINE} git_commit image_digest cell_id result_id",
        "cell_id, hardware, launcher, measured_at DESC, result_id",
    ),
    _relation(
        *("paired_ratios", "times of results measured side by side, by round"),
        "result_id other_id round ratio spread bursts",
        "result_id, other_id, round",
    ),
    _relation(
        *("contradictions", "results whose grade a neighbour in time refutes"),
        f"{_CELL} latency_median_ms other_median_ms grade other_grade ratio promise contradicted_by"
        f" mode hardware launcher backend {_END}",
        _NEWEST,
    ),
    _of_mode(
        *("generation_results", "text generation: first token, ms a token, tokens/s"),
        "batch_size time_to_first_token_median_ms time_per_output_token_median_ms token_throughput"
        " memory_mb grade off token_agreement decode_throughput sequence_length new_tokens profile",
        f"model, {_GOOD_FIRST}, token_throughput DESC NULLS LAST",
    ),
    _of_mode(
        *("training_results", "training: the parts of a step"),
        "batch_size latency_median_ms throughput grade forward_median_ms loss_median_ms"
        " backward_median_ms optimizer_median_ms memory_mb training_loss_first training_loss_last",
        f"model, {_GOOD_FIRST}, throughput DESC NULLS LAST",
    ),
    _of_mode(
        *("startup_results", "starts, cold and warm, stage by stage"),
        "latency_median_ms grade startup_cold_median_s startup_warm_import_median_s"
        " startup_warm_instantiate_median_s startup_warm_weights_median_s"
        " startup_warm_first_query_median_s startup_warm_interpreter_median_s concurrent_workers"
        " concurrent_speedup memory_mb",
        f"model, {_GOOD_FIRST}, latency_median_ms",
    ),
    _of_mode(
        *("arrival_results", "offline and server: queries/s and their latency"),
        "batch_size scenario throughput achieved_qps latency_p99_ms grade peak_qps peak_qps_low"
        " peak_qps_high target_qps slo_ms slo_met service_median_ms memory_mb",
        f"scenario, model, {_GOOD_FIRST}, throughput DESC NULLS LAST",
    ),
    _relation(
        *("offline_curve", "offline: speed and memory of each batch tried"),
        f"{_CELL} found throughput latency_median_ms memory_mb grade sequence_length {_MACHINE}"
        " measured_at queries result_id",
        "model, runtime, precision, result_id, batch_size",
    ),
    _of_mode(
        *("efficiency", "FLOP/s and bytes/s by the machine's own peaks"),
        "batch_size part mfu mbu bound gflop_per_s gb_per_s intensity peak_gflop_per_s"
        " peak_gb_per_s time_ms sequence_length grade",
        "model, mode, precision, batch_size, part DESC, mfu DESC NULLS LAST",
        more="threads",
    ),
    _relation("compatibility", "what runs on which backend, and why not", *_COMPATIBLE),
    _relation("failures", "what could not be measured, and why", *_FAILURE),
    _relation("imported_results", "what others measured", f"source {_RESULT}", _FASTEST),
    _relation(
        "latest_results_all", "the newest verdict, also if unquotable", _VERDICT, _COMBINATION
    ),
    _relation("benchmark_performance_all", "every verdict with its marks", _VERDICT, _NEWEST),
    _relation("compatibility_all", "the same with what others' files say", *_COMPATIBLE),
    _relation("failures_all", "the same with what others' files say", *_FAILURE),
    _relation(
        *("benchmark_runs", "each `orchestrator run`: its command, matrix and host"),
        "run_id started_at planned hostname command finished_at launchers",
        "started_at DESC, run_id",
    ),
    _relation(
        *("benchmark_results", "every record in base units"),
        "cell_id latency_median_s grade status throughput memory_peak_bytes launcher hostname"
        " recorded_at run_id",
        "recorded_at DESC, result_id",
    ),
    _relation(
        *("hardware_info", "the machines with their devices"),
        "device_name cpu_model cpu_cores_physical memory_total_bytes machine seen_at hardware_id",
        "seen_at DESC, hardware_id",
    ),
    _relation(
        *("environments", "library versions, kernels and images"),
        "runner_version python_version kernel operating_system image image_digest seen_at"
        " environment_id",
        "seen_at DESC, environment_id",
    ),
    _relation(
        *("models", "models with their configurations"),
        "model family task modality seen_at model_id",
        "model, model_id",
    ),
    _relation(
        *("artefacts", "graphs, images and weights by digest"),
        "name kind seen_at digest",
        "kind, name, digest",
    ),
    _relation(
        *("raw_benchmark_data", "raw durations: join them USING (result_id)"),
        "result_id durations_ns",
        "result_id",
    ),
    _relation("replay_jobs", "what `replay` runs again", "result_id job", "result_id"),
    _relation(
        *("accepted_changes", "known steps, which `regress --accept` recorded"),
        "cell_id because accepted_at accepted_by run_id",
        "accepted_at DESC, result_id",
    ),
    _relation(
        *("quarantine", "what `database check --fix` took out"),
        "result_id table_name reason quarantined_at",
        "quarantined_at DESC, result_id",
    ),
    _relation(
        "schema_version", "what kind of database this is", "version scratch", order="version"
    ),
)


@dataclass(frozen=True)
class NamedQuestion:
    """The question for a view or a table that was asked for by its name alone."""

    sql: str
    left_out: int
    """Columns of it that are not asked for."""


def named_question(sql: str, *, wide: bool) -> NamedQuestion | None:
    """The question that a single word stands for; None for a statement."""
    if (match := _NAME.fullmatch(sql)) is None:
        return None
    by_name = {relation.name: relation for relation in RELATIONS}
    if (relation := by_name.get(match[1].lower())) is None:
        raise UsageError.unknown(
            match[1],
            by_name,
            f"there is no view or table {match[1]!r}",
            hint="`orchestrator query` lists them; SQL begins with SELECT",
        )
    (columns,) = (known.columns for known in (*TABLES, *VIEWS) if known.name == relation.name)
    kept = "*" if wide else ", ".join(relation.columns)
    left_out = 0 if wide else len(columns) - len(relation.columns)
    return NamedQuestion(f"SELECT {kept} FROM {relation.name} ORDER BY {relation.order}", left_out)
