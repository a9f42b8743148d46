"""Verdicts on models and backends: one word for each result, and the evidence by cell."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.results.selection import IS_OURS, OF_A_DEVICE, Selection
from analysis.results.series import SETTINGS
from analysis.results.source import OWN_SOURCES, ArrowSource
from runner.contract.axes import SIZE_AXES

MEANINGS: Mapping[str, str] = {
    "ok": "works on the claimed device, and its outputs are as near to the fp32 CPU reference as"
    " its precision promises",
    "verified only": "the same, as `orchestrator verify` checks it, and nothing was timed",
    "unverified": "works, but its outputs could not be compared",
    "partial": "its outputs pass, but only a part of the work is proven to be the claimed device's",
    "unproven": "its outputs pass, but nothing proves which device did the work",
    "contradicted": "answers, but another device than the claimed one did the work",
    "wrong": "works, but its outputs are farther off than its precision may be",
}
"""The best first."""
BEST_FIRST = (
    *MEANINGS,
    *("out_of_memory", "timeout", "failed", "lost", "unavailable", "unsupported"),
)
_CONDITIONS: Mapping[str, str] = {
    "contradicted": "proof = 'contradicted'",
    "unverified": "correct IS NULL",
    "wrong": "NOT correct",
    "unproven": "proof = 'none'",
    "partial": "proof = 'partial'",
}
"""Conditions on results that ended well; the first that holds decides."""


def verdict_of(status: str, proof: str, correct: bool | None) -> str:
    if status != "ok":
        return status
    if proof == "contradicted":
        return proof
    if correct is None:
        return "unverified"
    if not correct:
        return "wrong"
    return {"proven": "ok", "none": "unproven"}.get(proof, proof)


def verdict_sql(timed: str) -> str:
    """The verdict in SQL; times of software in a device's place do not count as `timed`."""
    whens = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in _CONDITIONS.items())
    ok = f"CASE WHEN ({timed}) AND {OF_A_DEVICE} THEN 'ok' ELSE 'verified only' END"
    return f"CASE WHEN status <> 'ok' THEN status {whens} ELSE {ok} END"


_SUBJECT = "r.model, coalesce(r.mode, 'unknown') AS mode, r.backend"
_HOST = "coalesce(r.host, r.hostname, r.run_id)"
_BATCH = "CASE WHEN r.scenario = 'offline' THEN NULL ELSE r.batch_size END"
"""The search for the best batch is one cell, whichever batch it finds."""
_CELL = (
    *(f"{_BATCH} AS batch_size" if name == "batch_size" else f"r.{name}" for name in SIZE_AXES),
    *("r.scenario", "r.target_qps", "r.slo_ms", "r.workers", "r.settings", f"{_HOST} AS host"),
)
"""The work, beside model and mode, in which two backends must agree to be compared."""
_CELL_NAMES = (*SIZE_AXES, "scenario", "target_qps", "slo_ms", "workers", SETTINGS, "host")
_LATENCY = "coalesce(r.latency_median_ms, r.latency_mean_ms)"
_RATE = f"""
    CASE WHEN r.scenario = 'server' THEN coalesce(r.peak_qps, 1000 / r.latency_median_ms)
    ELSE coalesce(r.throughput, 1000 * r.batch_size / {_LATENCY}) END
"""
"""Samples per second; of `server` the highest rate, or queries per second one after the other."""
_REFUTING = ("contradicted", "wrong", "failed", "out_of_memory", "timeout", "unsupported")
"""Newest verdicts that an older measurement of the same cell does not stand against."""

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Rate:
    """The best timed result of one cell on one backend, of all its runtimes and precisions."""

    cell: Key
    """Sizes, scenario and host: the work, which other backends may have done too."""
    backend: str
    samples_per_s: float
    runtime: str | None
    precision: str | None
    verdict: str
    grade: str | None
    source: str

    @property
    def is_ours(self) -> bool:
        return self.source in OWN_SOURCES

    @property
    def counts(self) -> bool:
        """True if others are measured by it: it may be quoted, or others measured it."""
        return self.verdict in {"ok", "unverified"} or not self.is_ours


@dataclass(frozen=True)
class KnownVerdict:
    """Newest verdicts of one cell on one backend that have the same reason."""

    cell: Key
    backend: str
    verdict: str
    reason: str | None
    remedy: str | None
    is_ours: bool
    results: int


@dataclass(frozen=True)
class Evidence:
    """All that is known of one model in one mode."""

    model: str
    family: str | None
    mode: str
    rates: tuple[Rate, ...]
    findings: tuple[KnownVerdict, ...]


def read_evidence(source: ArrowSource, selection: Selection) -> tuple[Evidence, ...]:
    """The evidence of the selected results by model and mode, without what simulators timed."""
    rates: dict[tuple[str, str], list[Rate]] = defaultdict(list)
    findings: dict[tuple[str, str], list[KnownVerdict]] = defaultdict(list)
    families: dict[str, str | None] = {}
    for row in source.arrow(_rates_sql(selection)).to_pylist():
        families.setdefault(row["model"], row["family"])
        rates[row["model"], row["mode"]].append(
            Rate(_cell(row), row["backend"], row["rate"], **row["best"])
        )
    for row in source.arrow(_verdicts_sql(selection)).to_pylist():
        families.setdefault(row["model"], row["family"])
        facts = (row[name] for name in _KNOWN_COLUMNS)
        findings[row["model"], row["mode"]].append(KnownVerdict(_cell(row), *facts))
    return tuple(
        Evidence(
            model, families[model], mode, tuple(rates[model, mode]), tuple(findings[model, mode])
        )
        for model, mode in sorted({*rates, *findings})
    )


_KNOWN_COLUMNS = ("backend", "verdict", "reason", "remedy", "is_ours", "results")


def _cell(row: Mapping[str, Any]) -> Key:
    return tuple(row[name] for name in _CELL_NAMES)


def _newest(selection: Selection) -> str:
    """The newest verdict of each cell on each host, or all those of the run, as one word."""
    verdict = verdict_sql("r.latency_median_ms IS NOT NULL")
    return f"(SELECT r.*, {verdict} AS verdict FROM {selection.verdicts} r)"


def _verdicts_sql(selection: Selection) -> str:
    """Verdicts of ours, and what failed with others: that something worked says their rates."""
    reason = "CASE WHEN r.status = 'ok' THEN r.correct_reason ELSE r.reason END"
    return f"""
        SELECT {_SUBJECT}, {", ".join(_CELL)}, r.verdict, {reason} AS reason, r.remedy,
            {IS_OURS} AS is_ours, any_value(r.family) AS family, count(*) AS results
        FROM {_newest(selection)} r
        WHERE r.backend IS NOT NULL AND ({IS_OURS} OR r.status <> 'ok')
        GROUP BY ALL ORDER BY ALL
    """


def _rates_sql(selection: Selection) -> str:
    refuted = "" if selection.unquotable else ", ".join(f"'{verdict}'" for verdict in _REFUTING)
    best = f"""arg_max({{
        'runtime': r.runtime, 'precision': r.precision, 'verdict': {verdict_sql("true")},
        'grade': r.grade, 'source': r.source}}, {_RATE})"""
    return f"""
        SELECT {_SUBJECT}, {", ".join(_CELL)}, r.quotable, any_value(r.family) AS family,
            max({_RATE}) AS rate, {best} AS best
        FROM {selection.relation} r
        LEFT JOIN (
            SELECT DISTINCT r.cell_id AS known_cell, {_HOST} AS known_host
            FROM {_newest(selection)} r WHERE r.verdict IN ({refuted or "NULL"})
        ) d ON d.known_cell = r.cell_id AND d.known_host = {_HOST}
        WHERE r.backend IS NOT NULL AND d.known_cell IS NULL AND {_RATE} > 0
        GROUP BY ALL ORDER BY ALL
    """
