"""Known results of candidates, by SQL."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from analysis.compare.values import ASKED_THREADS_COLUMN, MetricValue, metric_values, with_intervals
from analysis.compatibility.verdicts import verdict_sql
from analysis.predict.examples.work import cell_of
from analysis.recommend.candidates import CandidateMachine, CellKey, Figure, Objection, key_of_facts
from analysis.recommend.memory_fit import BYTES_PER_MB, MemoryResult
from analysis.recommend.service_levels import (
    FRACTIONS,
    MeasuredDurations,
    ServiceLevel,
    launches_of,
)
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.series import SCOPE, SETTINGS
from analysis.results.source import ArrowSource, text
from runner.contract.axes import AXIS_NAMES
from runner.contract.cell import Cell

_MACHINE = "coalesce(r.hardware_id, r.hardware)"
_HOST = "coalesce(r.host, r.hostname)"
_AXES = ", ".join(ASKED_THREADS_COLUMN if name == "threads" else f"r.{name}" for name in AXIS_NAMES)
_AGAINST = {
    "contradicted": "wrong",
    "wrong": "wrong",
    "partial": "wrong",
    "unproven": "wrong",
    "failed": "failed",
    "timeout": "failed",
    "unsupported": "unsupported",
}
"""Verdicts that speak against a cell, whatever was measured of it before, as obstacles."""
_IN_WORDS = {
    "contradicted": "another device did the work",
    "wrong": "outputs wrong",
    "partial": "a part of the work is not proven to be the device's",
    "unproven": "nothing proves which device did the work",
    "failed": "failed",
    "timeout": "took longer than its time limit",
    "unsupported": "unsupported",
}
_OUT = "out_of_memory"
_PERCENTILES = ", ".join(
    f'[b.latency_{column}_s, b.latency_{column}_low_s, b.latency_{column}_high_s] AS "{name}"'
    for name in FRACTIONS
    for column in ["median" if name == "p50" else name.replace(".", "")]
)
_LIMIT = """regexp_extract(job, '"memory_bytes": ?([0-9]+)', 1)"""
PlacedCell = tuple[CellKey, str]
"""The values of a cell's axes, and the key of a machine."""


def machines_in(source: ArrowSource, selection: Selection) -> tuple[CandidateMachine, ...]:
    rows = source.arrow(f"""
        SELECT {_MACHINE} AS key, any_value(r.hardware) AS name, count(*) AS results,
            list(DISTINCT r.backend ORDER BY r.backend) AS backends,
            min(r.hostname) AS hostname,
            list(DISTINCT r.host) AS hosts, list(DISTINCT r.hostname) AS hostnames
        FROM {selection.relation} r
        WHERE {_MACHINE} IS NOT NULL AND r.backend IS NOT NULL
        GROUP BY 1 ORDER BY results DESC, key
    """).to_pylist()
    return tuple(
        CandidateMachine(
            row["key"],
            row["name"] or row["key"],
            tuple(row["backends"]),
            frozenset(filter(None, (*row["hosts"], *row["hostnames"]))),
            row["hostname"],
        )
        for row in rows
    )


def measured_values(
    source: ArrowSource, selection: Selection, metric: str
) -> dict[PlacedCell, MetricValue]:
    """The value of each cell on each machine: our own, as most are set, not of grade D, newest."""
    values = metric_values(source, selection, METRICS[metric])
    chosen: dict[PlacedCell, MetricValue] = {}
    settings = Counter(value.facts[SETTINGS] for value in values)

    def worth(value: MetricValue) -> tuple[bool, int, bool, str]:
        usual, moment = settings[value.facts[SETTINGS]], str(value.facts["measured_at"] or "")
        return not value.is_imported, usual, value.grade != "D", moment

    for value in sorted(values, key=worth):
        if value.facts["scenario"] in (None, "single_stream"):
            chosen[key_of_facts(value.facts), machine_key_of(value.facts)] = value
    completed = with_intervals(source, chosen.values(), METRICS[metric])
    by_result = {result: value for (result, _), value in completed.items()}
    return {key: by_result[str(value.facts["result_id"])] for key, value in chosen.items()}


def machine_key_of(facts: Mapping[str, Any]) -> str:
    return str(facts["hardware_id"] or facts["hardware"])


def measured_figure(value: MetricValue, metric: Metric) -> Figure:
    more = metric.more_is_better
    return Figure(
        *(value.value, value.interval, "measured", value.grade, value.marks),
        scope=value.facts[SCOPE],
        settings=value.facts[SETTINGS],
        launches=value.basis.launches if value.basis else None,
        result_id=value.result_id,
        pairs={other: pair if more else pair.inverse for other, pair in value.pairs.items()},
    )


def energy_scopes(source: ArrowSource, selection: Selection) -> dict[str, str]:
    rows = source.arrow(f"""
        SELECT {_MACHINE} AS machine, arg_max(r.{SCOPE}, (r.measured_at, r.result_id)) AS scope
        FROM {selection.relation} r
        WHERE r.{SCOPE} IS NOT NULL AND r.measured_at IS NOT NULL AND {_MACHINE} IS NOT NULL
        GROUP BY 1 ORDER BY 1
    """).to_pylist()
    return {row["machine"]: row["scope"] for row in rows}


@dataclass(frozen=True)
class KnownVerdicts:
    """The newest verdicts that speak against cells, and those of memory that ran out."""

    objections: Mapping[tuple[CellKey, str], Objection]
    """By cell and machine, or host where the record names no device."""
    ran_out: Mapping[str, Sequence[MemoryResult]]

    def objection(self, key: CellKey, machine: CandidateMachine) -> Objection | None:
        for name in (machine.key, *sorted(machine.hosts)):
            if objection := self.objections.get((key, name)):
                return objection
        return None

    def out_of_memory(self, machine: CandidateMachine) -> list[MemoryResult]:
        names = (machine.key, *sorted(machine.hosts))
        return [result for name in names for result in self.ran_out.get(name, ())]


def known_verdicts(source: ArrowSource, selection: Selection) -> KnownVerdicts:
    """The newest verdicts of the selected cells that speak against them."""
    verdict = verdict_sql("r.latency_median_ms IS NOT NULL")
    wanted = ", ".join(map(text, (*_AGAINST, _OUT)))
    rows = source.arrow(f"""
        SELECT v.*, j.job FROM (
            SELECT {_AXES}, r.result_id, coalesce({_MACHINE}, {_HOST}) AS where_,
                {verdict} AS verdict,
                CASE WHEN r.status = 'ok' THEN r.correct_reason ELSE r.reason END AS why,
                r.predicted AS foreseen
            FROM {selection.verdicts} r
            WHERE r.backend IS NOT NULL AND r.scenario = 'single_stream'
        ) v LEFT JOIN replay_jobs j ON j.result_id = v.result_id AND v.verdict = {text(_OUT)}
        WHERE v.verdict IN ({wanted}) ORDER BY v.result_id
    """).to_pylist()
    objections: dict[tuple[CellKey, str], Objection] = {}
    ran_out: dict[str, list[MemoryResult]] = defaultdict(list)
    for row in rows:
        cell = _cell(row)
        if row["verdict"] == _OUT and cell is not None:
            limit = None
            with suppress(ValueError, AttributeError):
                limit = json.loads(row["job"] or "{}").get("limits", {}).get("memory_bytes")
            limit = limit if isinstance(limit, int) else None
            ran_out[row["where_"]].append(
                MemoryResult(cell, None, True, limit, bool(row["foreseen"]))
            )
        elif row["verdict"] in _AGAINST:
            words = ": ".join(filter(None, (_IN_WORDS[row["verdict"]], row["why"])))
            kind: Any = _AGAINST[row["verdict"]]
            objections[key_of_facts(row), row["where_"]] = Objection(kind, words)
    return KnownVerdicts(objections, ran_out)


def _cell(facts: Mapping[str, Any]) -> Cell | None:
    return cell_of(dict(zip(AXIS_NAMES, key_of_facts(facts), strict=True)))


def memory_results(source: ArrowSource, selection: Selection) -> dict[str, list[MemoryResult]]:
    """The memory of each cell on each machine, with the limit of its job, if it had one."""
    rows = source.arrow(f"""
        SELECT * FROM (SELECT result_id, try_cast({_LIMIT} AS BIGINT) AS most FROM replay_jobs)
        WHERE most IS NOT NULL
    """).to_pylist()
    limits = {row["result_id"]: row["most"] for row in rows}
    results: dict[str, list[MemoryResult]] = defaultdict(list)
    for value in metric_values(source, selection, METRICS["memory"]):
        facts = value.facts
        cell = _cell(facts) if facts["scenario"] == "single_stream" else None
        if cell is not None:
            peak, limit = value.value * BYTES_PER_MB, limits.get(str(facts["result_id"]))
            results[machine_key_of(facts)].append(MemoryResult(cell, peak, limit_bytes=limit))
    return results


def measured_durations(
    source: ArrowSource, values: Iterable[MetricValue], level: ServiceLevel
) -> dict[str, MeasuredDurations]:
    ids = ", ".join(text(str(value.facts["result_id"])) for value in values)
    if not ids:
        return {}
    rows = source.arrow(f"""
        SELECT b.result_id, w.durations_ns, b.round_iterations, b.effective_iterations,
            b.process_spread, b.latency_{level.column}_s AS percentile_s, {_PERCENTILES}
        FROM benchmark_results b LEFT JOIN raw_benchmark_data w USING (result_id)
        WHERE b.result_id IN ({ids})
    """).to_pylist()
    return {
        row["result_id"]: MeasuredDurations(
            launches_of(row["durations_ns"] or (), row["round_iterations"]),
            row["effective_iterations"],
            row["process_spread"],
            row["percentile_s"],
            {name: tuple(row[name]) for name in FRACTIONS if row[name][0] is not None},
        )
        for row in rows
    }


def variations(
    source: ArrowSource, selection: Selection
) -> dict[tuple[str, str, str], list[float]]:
    """The coefficients of variation of results that are graded, by machine, backend and runtime."""
    rows = source.arrow(f"""
        SELECT {_MACHINE} AS machine, r.backend, r.runtime, list(r.latency_cv) AS known
        FROM {selection.relation} r
        WHERE r.latency_cv > 0 AND r.grade < 'D' AND r.scenario = 'single_stream'
            AND {_MACHINE} IS NOT NULL AND r.runtime IS NOT NULL
        GROUP BY ALL ORDER BY ALL
    """).to_pylist()
    return {(row["machine"], row["backend"], row["runtime"]): row["known"] for row in rows}
