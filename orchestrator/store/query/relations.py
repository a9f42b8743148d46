"""Views and tables in a line each, and what is shown of one that is asked for by its name alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """The order of its rows, as SQL."""


_CELL = ("model", "runtime", "precision", "batch_size")
_MACHINE = ("hardware", "hostname", "launcher", "backend")
_RESULT = (
    *(*_CELL, "latency_median_ms", "throughput", "grade", "off", "memory_mb", "latency_precision"),
    *("sequence_length", "mode", "scenario", "profile", *_MACHINE, "measured_at", "result_id"),
)
_LATEST = tuple(
    part for name in _RESULT for part in ((name, "better_grade") if name == "grade" else (name,))
)
_VERDICT = (
    *(*_CELL, "status", "proof", "correct", "grade", "latency_median_ms", "throughput", "reason"),
    *("mode", "source", *_MACHINE, "measured_at", "result_id"),
)
_GOOD_FIRST = "grade IS NOT DISTINCT FROM 'D'"
_FASTEST = f"mode, scenario, model, {_GOOD_FIRST}, throughput DESC NULLS LAST, result_id"
_NEWEST = "measured_at DESC NULLS LAST, result_id"
_FAILURE = (
    *(*_CELL, "status", "reason", "remedy", "phase", "mode", "hostname", "launcher"),
    *("recorded_at", "result_id"),
)
_COMPATIBLE = (
    *("model", "backend", "runtime", "precision", "mode", "status", "cells_ok", "cells", "proof"),
    *("correct", "reason", "hostname", "source", "measured_at"),
)
_COMBINATION = "model, backend, runtime, precision, mode"

RELATIONS = (
    Relation("latest_results", "the newest result of each cell and machine", _LATEST, _FASTEST),
    Relation("benchmark_performance", "every result that may be quoted", _RESULT, _NEWEST),
    Relation(
        "history",
        "how a result changed from one measurement to the next",
        (
            *(*_CELL, "latency_median_ms", "ratio", "grade", "measured_at"),
            *("previous_median_ms", "previous_grade", "mode", "scenario", "profile", *_MACHINE),
            *("git_commit", "image_digest", "cell_id", "result_id"),
        ),
        "cell_id, hardware, launcher, measured_at DESC, result_id",
    ),
    Relation(
        "contradictions",
        "results whose grade a neighbour in time refutes",
        (
            *(*_CELL, "latency_median_ms", "other_median_ms", "grade", "other_grade", "ratio"),
            *("promise", "contradicted_by", "mode", "hardware", "launcher", "backend"),
            *("measured_at", "result_id"),
        ),
        _NEWEST,
    ),
    Relation(
        "generation_results",
        "text generation: first token, ms a token, tokens/s",
        (
            *("model", "runtime", "precision", "batch_size", "time_to_first_token_median_ms"),
            *("time_per_output_token_median_ms", "token_throughput", "memory_mb", "grade", "off"),
            *("token_agreement", "decode_throughput", "sequence_length", "new_tokens", "profile"),
            *(*_MACHINE, "measured_at", "result_id"),
        ),
        f"model, {_GOOD_FIRST}, token_throughput DESC NULLS LAST, result_id",
    ),
    Relation(
        "training_results",
        "training: the parts of a step",
        (
            *(*_CELL, "latency_median_ms", "throughput", "grade", "forward_median_ms"),
            *("loss_median_ms", "backward_median_ms", "optimizer_median_ms", "memory_mb"),
            *("training_loss_first", "training_loss_last", *_MACHINE, "measured_at", "result_id"),
        ),
        f"model, {_GOOD_FIRST}, throughput DESC NULLS LAST, result_id",
    ),
    Relation(
        "startup_results",
        "starts, cold and warm, stage by stage",
        (
            *("model", "runtime", "precision", "latency_median_ms", "grade"),
            *("startup_cold_median_s", "startup_warm_import_median_s"),
            *("startup_warm_instantiate_median_s", "startup_warm_weights_median_s"),
            *("startup_warm_first_query_median_s", "startup_warm_interpreter_median_s"),
            *(
                "concurrent_workers",
                "concurrent_speedup",
                "memory_mb",
                *_MACHINE,
                "measured_at",
                "result_id",
            ),
        ),
        f"model, {_GOOD_FIRST}, latency_median_ms, result_id",
    ),
    Relation(
        "arrival_results",
        "offline and server: queries/s and their latency",
        (
            *(*_CELL, "scenario", "throughput", "achieved_qps", "latency_p99_ms", "grade"),
            *("peak_qps", "peak_qps_low", "peak_qps_high", "target_qps", "slo_ms", "slo_met"),
            *("service_median_ms",),
            *("memory_mb", *_MACHINE, "measured_at", "result_id"),
        ),
        f"scenario, model, {_GOOD_FIRST}, throughput DESC NULLS LAST, result_id",
    ),
    Relation(
        "offline_curve",
        "offline: speed and memory of each batch tried",
        (
            *(*_CELL, "found", "throughput", "latency_median_ms", "memory_mb", "grade"),
            *("sequence_length", *_MACHINE, "measured_at", "queries", "result_id"),
        ),
        "model, runtime, precision, result_id, batch_size",
    ),
    Relation(
        "efficiency",
        "FLOP/s and bytes/s by the machine's own peaks",
        (
            *(*_CELL, "part", "mfu", "mbu", "bound", "gflop_per_s", "gb_per_s", "intensity"),
            *("peak_gflop_per_s", "peak_gb_per_s", "time_ms", "sequence_length", "grade"),
            *(*_MACHINE, "threads", "measured_at", "result_id"),
        ),
        "model, mode, precision, batch_size, part DESC, mfu DESC NULLS LAST, result_id",
    ),
    Relation("compatibility", "what runs on which backend, and why not", _COMPATIBLE, _COMBINATION),
    Relation(
        "failures", "what could not be measured, and why", _FAILURE, "recorded_at DESC, result_id"
    ),
    Relation("imported_results", "what others measured", ("source", *_RESULT), _FASTEST),
    Relation(
        "latest_results_all", "the newest verdict, also if unquotable", _VERDICT, _COMBINATION
    ),
    Relation("benchmark_performance_all", "every verdict with its marks", _VERDICT, _NEWEST),
    Relation(
        "compatibility_all", "the same with what others' files say", _COMPATIBLE, _COMBINATION
    ),
    Relation(
        "failures_all",
        "the same with what others' files say",
        _FAILURE,
        "recorded_at DESC, result_id",
    ),
    Relation(
        "benchmark_runs",
        "each `orchestrator run`: its command, matrix and host",
        ("run_id", "started_at", "planned", "hostname", "command", "finished_at", "launchers"),
        "started_at DESC, run_id",
    ),
    Relation(
        "benchmark_results",
        "every record in base units",
        (
            *("cell_id", "latency_median_s", "grade", "status", "throughput"),
            *("memory_peak_bytes", "launcher", "hostname", "recorded_at", "run_id"),
        ),
        "recorded_at DESC, result_id",
    ),
    Relation(
        "hardware_info",
        "the machines with their devices",
        (
            *("device_name", "cpu_model", "cpu_cores_physical", "memory_total_bytes"),
            *("machine", "seen_at", "hardware_id"),
        ),
        "seen_at DESC, hardware_id",
    ),
    Relation(
        "environments",
        "library versions, kernels and images",
        (
            *("runner_version", "python_version", "kernel", "operating_system", "image"),
            *("image_digest", "seen_at", "environment_id"),
        ),
        "seen_at DESC, environment_id",
    ),
    Relation(
        "models",
        "models with their configurations",
        ("model", "family", "task", "modality", "seen_at", "model_id"),
        "model, model_id",
    ),
    Relation(
        "artefacts",
        "graphs, images and weights by digest",
        ("name", "kind", "seen_at", "digest"),
        "kind, name, digest",
    ),
    Relation(
        "raw_benchmark_data",
        "raw durations: join them USING (result_id)",
        ("result_id", "durations_ns"),
        "result_id",
    ),
    Relation("replay_jobs", "what `replay` runs again", ("result_id", "job"), "result_id"),
    Relation(
        "accepted_changes",
        "known steps, which `regress --accept` recorded",
        ("cell_id", "because", "accepted_at", "accepted_by", "run_id"),
        "accepted_at DESC, result_id",
    ),
    Relation(
        "quarantine",
        "what `database check --fix` took out",
        ("result_id", "table_name", "reason", "quarantined_at"),
        "quarantined_at DESC, result_id",
    ),
    Relation("schema_version", "what kind of database this is", ("version", "scratch"), "version"),
)
_BY_NAME: Mapping[str, Relation] = {relation.name: relation for relation in RELATIONS}


@dataclass(frozen=True)
class NamedQuestion:
    """The question for a view or a table that was asked for by its name alone."""

    sql: str
    left_out: int
    """Columns of it that are not asked for."""


def named_question(sql: str, *, wide: bool) -> NamedQuestion | None:
    """The question that a single word stands for; None for a statement."""
    match = _NAME.fullmatch(sql)
    if match is None:
        return None
    relation = _BY_NAME.get(match[1].lower())
    if relation is None:
        raise UsageError.unknown(
            match[1],
            _BY_NAME,
            f"there is no view or table {match[1]!r}",
            hint="`orchestrator query` lists them; SQL begins with SELECT",
        )
    kept = "*" if wide else ", ".join(relation.columns)
    left_out = 0 if wide else _number_of_columns(relation.name) - len(relation.columns)
    return NamedQuestion(f"SELECT {kept} FROM {relation.name} ORDER BY {relation.order}", left_out)


def _number_of_columns(name: str) -> int:
    return next(len(known.columns) for known in (*TABLES, *VIEWS) if known.name == name)
