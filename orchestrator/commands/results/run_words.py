"""A run's results at its end."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from analysis.results.row import ResultRow
from orchestrator.commands.results.answer_words import (
    answer_lines,
    change_lines,
    proof_line,
    trust_line,
)
from orchestrator.commands.results.next_steps import find_remedy, next_commands
from orchestrator.commands.results.result_table import print_result_tables
from orchestrator.commands.results.run_report import RunReport, RunsReport
from orchestrator.commands.results.table_options import TableOptions
from orchestrator.screen.lines import own_name, print_command, print_json, print_line
from orchestrator.screen.remarks import Remark, kind_of, remark_lines
from orchestrator.screen.words.doubts import doubt_text


def remarks(rows: Sequence[ResultRow]) -> Iterator[str]:
    """All that is to be said against results, alike remarks in one line."""
    yield from failures(rows)
    timed = [row for row in rows if row.status == "ok"]
    doubts = [
        Remark(row.cell_id, doubt_text(doubt), (doubt.code, doubt.remedy))
        for row in timed
        for doubt in row.doubts or ()
    ]
    yield from remark_lines(doubts, len(rows))


def failures(rows: Sequence[ResultRow]) -> Iterator[str]:
    """The reasons of cells without a sound measurement, each remedy below those it is for."""
    remarked = [
        Remark(row.cell_id, failure, _kind(row), row.remedy)
        for row in rows
        if (failure := _failure(row))
    ]
    yield from remark_lines(remarked, len(rows))


def _kind(row: ResultRow) -> Hashable:
    if row.status == "ok":
        return row.correct, kind_of(row.correct_code, row.correct_facts)
    return row.status, kind_of(row.reason_code, row.reason_facts)


def _failure(row: ResultRow) -> str | None:
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    if row.correct is False:
        return f"not correct, so views leave it out: {row.correct_reason}"
    return None if row.correct else row.correct_reason


_PLAIN = TableOptions()


def print_results(
    report: RunReport,
    *,
    as_json: bool,
    table: TableOptions = _PLAIN,
    quiet: bool = False,
    is_last: bool = True,
) -> None:
    """Print the run's results, the answer, what limits it, and what to do next.

    Args:
        report: the results.
        as_json: True for data alone.
        table: how the table looks.
        quiet: True for the tables alone.
        is_last: False if something is printed below that says what to do next.
    """
    if as_json:
        print_json(report.data())
        return
    print_result_tables(report.results, table)
    if quiet:
        return
    timed = report.timed
    if line := proof_line(timed):
        print_line(line)
    print_line()
    for line in chain(answer_lines(report), failures(report.results)):
        print_line(line)
    for line in change_lines(report.changes, report.results):
        print_line(line)
    _print_trust(report)
    if report.traces:
        print_line(_describe_traces(report.traces))
    counts = Counter(row.status for row in report.results)
    summary = ", ".join(f"{n:,} {status}" for status, n in counts.items())
    print_line(f"run {report.run_id}: {summary}; database: {report.database}")
    if is_last:
        _print_next(report)


def print_runs(
    report: RunsReport, *, as_json: bool, table: TableOptions = _PLAIN, quiet: bool = False
) -> None:
    """Print the results of runs one after the other, or one document of all."""
    if as_json:
        print_json(report.data())
        return
    for run in report.runs:
        print_results(run, as_json=False, table=table, quiet=quiet)


def print_findings(report: RunsReport, *, as_json: bool) -> None:
    """Print every reason against the runs' numbers, each with its remedy."""
    findings = [(run.run_id, _findings(run)) for run in report.runs]
    if as_json:
        runs = [{"run_id": run_id, "findings": lines} for run_id, lines in findings]
        single = report.group_id is None
        print_json(runs[0] if single else {"group_id": report.group_id, "runs": runs})
        return
    for run_id, lines in findings:
        print_line(f"run {run_id}")
        for line in lines or ["nothing speaks against its numbers"]:
            print_line(line)


def _findings(report: RunReport) -> list[str]:
    return [*change_lines(report.changes, report.results), *remarks(report.results)]


def _print_trust(report: RunReport) -> None:
    """Print the cause that lowers most grades, and the command that helps."""
    line = trust_line(report.grades)
    if line is None:
        return
    print_line(line)
    remedy = find_remedy(report)
    if remedy is not None:
        print_line(remedy.sentence)
        if remedy.command:
            print_command(f"{own_name()} {remedy.command}")


def _print_next(report: RunReport) -> None:
    commands = next_commands(report)
    if commands:
        print_line("next:")
    for command in commands:
        print_command(f"{own_name()} {command}")


def _describe_traces(traces: Sequence[Path]) -> str:
    beside = "the heaviest operators lie beside it in .operators.txt"
    if len(traces) == 1:
        return f"trace: {traces[0]}; {beside}"
    return f"{len(traces)} traces: {traces[0].parents[1]}/*/*.trace.json; {beside}"
