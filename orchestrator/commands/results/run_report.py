"""The report of a run: its results, what they support, and whether their grades are good enough."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from analysis.results.answer import Comparison, Lead, Ranking, comparisons
from analysis.results.metrics import METRICS
from analysis.results.paired import PairedRatios, paired_ratios
from analysis.results.row import ResultRow
from analysis.results.trust import (
    Change,
    GradeSummary,
    changes,
    doubt_contradictions,
    summarise_grades,
)
from analysis.statistics.ratios import THRESHOLD, outcome_facts
from orchestrator.screen.words.doubts import doubt_text
from orchestrator.store.query.runs import resolve_group
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from orchestrator.system.text import plural
from runner.contract.errors import Inconclusive
from runner.contract.record.verdict import Grade

_MOST_NAMED = 5


@dataclass(frozen=True)
class RunReport:
    """The verdicts of one run, and what they support."""

    run_id: str
    database: Path
    results: tuple[ResultRow, ...]
    """By cell id; of grade D where neighbours of their series contradict them."""
    traces: tuple[Path, ...] = ()
    changes: tuple[Change, ...] = ()
    """Differences from the last results of the same series, beyond intervals and grades."""
    command: str | None = None
    """The command line that planned the run; None if nobody knows."""
    pairs: PairedRatios = field(default_factory=dict)
    """The ratios of cells that were measured side by side, by both ids."""

    @property
    def timed(self) -> tuple[ResultRow, ...]:
        return tuple(row for row in self.results if row.latency_median_ms is not None)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return comparisons(self.results, self.pairs)

    @property
    def grades(self) -> GradeSummary:
        return summarise_grades(self.timed)

    def data(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "database": self.database,
            "results": [_row_data(row) for row in self.results],
            "answers": [_comparison_data(comparison) for comparison in self.comparisons],
            "changes": [_change_data(change) for change in self.changes],
            "traces": self.traces,
        }


def report_stored(run_id: str, store: Store) -> RunReport:
    rows, earlier = store.results(run_id), store.neighbours(run_id)
    differing = changes(rows, earlier)
    later = changes(rows, store.neighbours(run_id, later=True))
    results = doubt_contradictions(rows, [*differing, *later])
    command = store.command_of(run_id)
    # a ratio needs two rounds, and to ask for those of a run that has one takes a new connection
    names = {f"{run_id}/{row.cell_id}": row.cell_id for row in rows if (row.rounds or 1) > 1}
    pairs = {
        (names[one], names[other]): pair
        for (one, other), pair in paired_ratios(store, names).items()
        if other in names
    }
    return RunReport(run_id, store.path, results, (), differing, command, pairs)


@dataclass(frozen=True)
class RunsReport:
    """The verdicts of several runs that belong together, or of one run."""

    runs: tuple[RunReport, ...]
    group_id: str | None = None
    """The id that they share; None for one run."""

    def data(self) -> dict[str, Any]:
        runs = [run.data() for run in self.runs]
        return runs[0] if self.group_id is None else {"group_id": self.group_id, "runs": runs}


def report_runs(name: str, database: Path) -> RunsReport:
    """The reports of a group's runs, or that of the run of this name; `last` means the newest."""
    with Store.open_readonly(database) as store:
        known = store.runs()
        run_ids = resolve_group(name, known, database)
        reports = tuple(report_stored(run_id, store) for run_id in run_ids)
    group_id = name if any(run.group_id == name for run in known) else None
    return RunsReport(reports, group_id)


def _row_data(row: ResultRow) -> dict[str, Any]:
    """A row with its doubts in words; samples a second say nothing of generation."""
    samples = {"throughput": None} if row.mode == "generation" else {}
    words = None if row.doubts is None else [*map(doubt_text, row.doubts)]
    return row.data() | {"grade_reasons": words} | samples


def _comparison_data(comparison: Comparison) -> dict[str, Any]:
    return {
        "cells": [row.cell_id for row in comparison.rows],
        "fastest": _ranking_data(comparison.fastest),
        "reference": comparison.reference and _lead_data(comparison.reference),
        "shortest": _ranking_data(comparison.shortest),
        "threshold": THRESHOLD,
        "undecided": {
            code: [row.cell_id for row in rows] for code, rows in comparison.undecided.items()
        },
        "not_comparable": {
            reason: [row.cell_id for row in rows] for reason, rows in comparison.excluded.items()
        },
    }


def _ranking_data(ranking: Ranking | None) -> Mapping[str, Any] | None:
    if ranking is None:
        return None
    return {
        "cell": ranking.first.cell_id,
        "equal": [_lead_data(lead) for lead in ranking.equals],
        "undecided": [_lead_data(lead) for lead in ranking.undecided],
        "next": ranking.next and _lead_data(ranking.next),
    }


def _lead_data(lead: Lead) -> dict[str, Any]:
    return {
        "cell": lead.behind.cell_id,
        "times_as_fast": asdict(lead.ratio),
        **outcome_facts(lead.outcome, METRICS["latency"]),
    }


def _change_data(change: Change) -> dict[str, Any]:
    return {
        "cell": change.now.cell_id,
        "ratio": asdict(change.ratio),
        "then": asdict(change.then),
        "contradicts_grade": change.is_contradiction,
    }


def require_grade(
    graded: Iterable[tuple[str, Grade]], required: Grade | None, *, run: str, database: Path
) -> None:
    """Insist on the grade that `--require-grade` names; `status RUN` tells reasons."""
    known = list(graded)
    worse = [(name, grade) for name, grade in known if required is not None and grade > required]
    if not worse:
        return
    words = shlex.join(["orchestrator", "status", run, "--why", *database_option(database)])
    raise Inconclusive(
        f"--require-grade {required}: {below_grade_words(worse, len(known))}",
        hint=f"`{words}` tells what speaks against them, and what helps",
    )


def below_grade_words(worse: Iterable[tuple[str, Grade]], total: int, noun: str = "result") -> str:
    names = [f"{name} ({grade})" for name, grade in worse]
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    subject = f"{len(names):,} of {total:,} {plural(total, noun)}"
    verb = "is" if len(names) == 1 else "are"
    return f"{subject} {verb} below it: {', '.join(names[:_MOST_NAMED])}{more}"


def require_run_grade(report: RunReport, required: Grade | None) -> None:
    graded = [(row.cell_id, row.grade or "D") for row in report.timed]
    require_grade(graded, required, run=report.run_id, database=report.database)
