"""A plan as a table, as JSON, as GitHub's matrix or as GitLab's pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING

from analysis.results.table import Field, wrapping
from orchestrator.screen.lines import print_content, print_json, print_line, print_note, stream_json
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import format_duration
from runner.contract.reasons import Reason

if TYPE_CHECKING:
    from orchestrator.commands.measure.pipelines.jobs import PipelineJob
    from orchestrator.commands.measure.plan import PlanReport
    from orchestrator.planning.estimate import EstimateSource

_MOST_ROWS = 100_000
"""Cells that a table shows: it keeps them all until the columns' widths are known."""
_COLUMNS: tuple[str | Field, ...] = (
    *wrapping("cell"),
    "decision",
    Field("estimate", essential=True, right=True),
    Field("by", essential=True),
    "reason",
)
_ESTIMATES: Mapping[EstimateSource, str] = {
    "measured": "estimates are by what the same cells took here before",
    "predicted": "estimates are predicted from what was measured here",
    "arithmetic": "estimates are by arithmetic: nothing was measured here that tells them",
}
"""Sentences below a table whose estimates have the same source; others have a column."""
_PATIENCE_S = 5.0
"""Seconds between two notes about the planning."""


class PlanningNotes:
    """Notes on stderr about a planning that takes long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted_at = clock()

    def __call__(self, work: str, done: int, total: int) -> None:
        """Say how far it is, unless the last note was a moment ago."""
        now = self._clock()
        if now - self._noted_at >= _PATIENCE_S:
            self._noted_at = now
            print_note(f"planning: {done:,} of {total:,} cells {work}")


def print_plan(report: PlanReport, *, as_json: bool) -> None:
    """Print every cell with its decision, reason and estimate, then the sums."""
    plan = report.plan
    if as_json:
        stream_json({"cells": report.cells(), "exports": report.exports, "notes": plan.notes})
        return
    shown = plan.entries[:_MOST_ROWS]
    reasons: dict[Reason, int] = {}
    for entry in shown:
        if entry.reason:
            reasons.setdefault(entry.reason, len(reasons) + 1)
    columns = list(_COLUMNS)
    rows: list[list[object]] = [
        [
            entry.cell.id,
            entry.decision,
            format_duration(round(entry.estimate_s)) if entry.decision == "run" else None,
            entry.estimated_by,
            f"[{reasons[entry.reason]}]" if entry.reason else entry.status or "",
        ]
        for entry in shown
    ]
    sources = {entry.estimated_by for entry in shown if entry.estimated_by}
    kept = [True, True, True, len(sources) > 1, any(row[-1] for row in rows)]
    print_lines([*compress(columns, kept)], [[*compress(row, kept)] for row in rows])
    if len(shown) < len(plan.entries):
        print_line(f"… and {len(plan.entries) - len(shown):,} more: --format json tells them all")
    sums = report.sums()
    print_line()
    for reason, number in reasons.items():
        print_line(f"[{number}] {reason_text(reason)}")
    if len(sources) == 1:
        print_line(f"note: {_ESTIMATES[sources.pop()]}")
    for note in plan.notes:
        print_line(f"note: {note}")
    if report.exports:
        seconds = format_duration(round(sums.exporting_s))
        count = len(report.exports)
        graphs = f"{count} graph{' is' if count == 1 else 's are'}"
        print_line(f"note: {graphs} exported first, in about {seconds}, and kept for later runs")
    print_line(str(sums))


def print_jobs(
    jobs: Sequence[PipelineJob], matrix: str, *, gitlab: bool, judge: Sequence[str] = ()
) -> None:
    """Print GitHub's `strategy.matrix` on one line, or the YAML of GitLab's child pipeline.

    Args:
        jobs: the jobs that measure.
        matrix: the matrix file.
        gitlab: True for GitLab.
        judge: the tags of GitLab's runner that judges.
    """
    from orchestrator.commands.measure.pipelines.github import github_matrix
    from orchestrator.commands.measure.pipelines.gitlab import gitlab_pipeline

    if gitlab:
        print_content(gitlab_pipeline(jobs, matrix, judge).encode())
    else:
        print_json(github_matrix(jobs), indent=None)
