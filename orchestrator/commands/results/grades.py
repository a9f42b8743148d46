"""Grades that somebody requires of results, as `--require-grade` does."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from orchestrator.commands.results.run_report import RunReport
from orchestrator.system.files import database_option
from orchestrator.system.text import plural
from runner.contract.errors import Inconclusive
from runner.contract.record.verdict import Grade

_MOST_NAMED = 5
"""Results that the error names; more are counted."""


def require_grade(
    graded: Iterable[tuple[str, Grade]], required: Grade | None, *, run: str, database: Path
) -> None:
    """Insist that no result has a worse grade than the one required.

    Args:
        graded: names of results, each with its grade.
        required: the worst grade that is good enough; None if any is.
        run: the run to look at for reasons, or `last`.
        database: the database that holds it.
    """
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
    """The sentence about results whose grade is worse than the one required."""
    names = [f"{name} ({grade})" for name, grade in worse]
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    subject = f"{len(names):,} of {total:,} {plural(total, noun)}"
    verb = "is" if len(names) == 1 else "are"
    return f"{subject} {verb} below it: {', '.join(names[:_MOST_NAMED])}{more}"


def require_run_grade(report: RunReport, required: Grade | None) -> None:
    """Insist that no result of a run has a worse grade than the one required."""
    graded = [(row.cell_id, row.grade or "D") for row in report.timed]
    require_grade(graded, required, run=report.run_id, database=report.database)
