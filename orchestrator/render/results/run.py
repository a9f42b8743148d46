"""A run's results at its end."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from analysis.compatibility.remedies import remedy_for
from analysis.results.row import ResultRow
from orchestrator.app.measure.next_steps import find_remedy, next_commands
from orchestrator.app.measure.report import RunReport
from orchestrator.render.results.answer import answer_lines, change_lines, proof_line, trust_line
from orchestrator.render.results.result_table import ResultTable, print_result_tables
from orchestrator.render.terminal.lines import own_name, print_command, print_json, print_line

_NUMBER = re.compile(r"\d[\d.,]*")
_REMEDY = "  remedy: "


def remarks(rows: Sequence[ResultRow]) -> Iterator[str]:
    """All that is to be said against results, alike remarks in one line."""
    yield from failures(rows)
    timed = [row for row in rows if row.status == "ok"]
    yield from _grouped(rows, [(row, text) for row in timed for text in row.grade_reasons or ()])


def failures(rows: Sequence[ResultRow]) -> Iterator[str]:
    """The reasons of cells without a sound measurement, alike reasons in one line.

    Each remedy is a line of its own, below all reasons that it is for.
    """
    by_remedy: dict[str | None, list[tuple[ResultRow, str]]] = {}
    for row in rows:
        if failure := _failure(row):
            by_remedy.setdefault(remedy_for(row), []).append((row, failure))
    for remedy, remarked in by_remedy.items():
        yield from _grouped(rows, remarked)
        if remedy:
            yield f"{_REMEDY}{remedy}"


def _grouped(rows: Sequence[ResultRow], remarked: Sequence[tuple[ResultRow, str]]) -> Iterator[str]:
    """One line per remark, with its cell or with how many cells it holds for.

    Remarks that differ in numbers alone are one line, with the numbers of the first.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for row, remark in remarked:
        groups.setdefault(_NUMBER.sub("#", remark), []).append((row.cell_id, remark))
    for alike in groups.values():
        first_cell, remark = alike[0]
        cells = {cell for cell, _ in alike}
        if len(cells) == 1:
            yield f"{first_cell}: {remark}"
            continue
        same = len({text for _, text in alike}) == 1
        such_as = "" if same else f", such as {first_cell}"
        yield f"{len(cells):,} of {len(rows):,} cells{such_as}: {remark}"


def _failure(row: ResultRow) -> str | None:
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    if row.correct is False:
        return f"not correct, so views leave it out: {row.correct_reason}"
    return None if row.correct else row.correct_reason


_PLAIN = ResultTable()


def print_results(
    report: RunReport, *, as_json: bool, table: ResultTable = _PLAIN, quiet: bool = False
) -> None:
    """Print the run's results, the answer, what limits it, and what to do next."""
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
    _print_next(report)


def print_findings(report: RunReport, *, as_json: bool) -> None:
    """Print every reason against the run's numbers, each with its remedy."""
    lines = [*change_lines(report.changes, report.results), *remarks(report.results)]
    if as_json:
        print_json({"run_id": report.run_id, "findings": lines})
        return
    print_line(f"run {report.run_id}")
    for line in lines or ["nothing speaks against its numbers"]:
        print_line(line)


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
