"""A run's results at its end, and commands to go on with, in options that these commands have."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain

from analysis.results.row import ResultRow
from analysis.results.series import agreeing_columns
from analysis.results.synonyms import axis_called
from orchestrator.commands.options.table import TableOptions
from orchestrator.commands.results.answer_words import (
    answer_lines,
    change_lines,
    proof_line,
    trust_line,
)
from orchestrator.commands.results.remedies import find_remedy, measuring_words
from orchestrator.commands.results.result_table import print_result_tables
from orchestrator.commands.results.run_report import RunReport, RunsReport
from orchestrator.screen.lines import own_name, print_command, print_json, print_line
from orchestrator.screen.remarks import Remark, kind_of, remark_lines
from orchestrator.screen.words.doubts import doubt_text
from orchestrator.system.files import database_option
from orchestrator.system.text import plural
from runner.contract.axes import AXIS_NAMES, AxisName
from runner.contract.record.verdict import DoubtCode, explains

_COMPARED_BY: tuple[AxisName, ...] = (
    *("backend", "runtime", "precision", "batch_size", "sequence_length", "threads", "workers"),
    "model",
)
"""Properties by which a run's results are compared, the likeliest question first."""
_BATCHES = "1,2,4,8"
_PLAIN = TableOptions()


def next_commands(report: RunReport) -> tuple[str, ...]:
    timed = report.timed
    if not timed:
        return ()
    where = database_option(report.database)
    topic = "generation" if {row.mode for row in timed} == {"generation"} else "performance"
    quotable = any(row.grade != "D" for row in timed)
    commands: list[list[str]] = []
    if by := comparable_property(timed):
        commands.append(["compare", "--by", by, "--run", report.run_id, *where])
    elif report.changes:
        commands.append(["compare", report.changes[0].then.run_id, report.run_id, *where])
    if quotable and (more := _more_batches(report)):
        commands.append(more)
    commands.append(["report", "run", report.run_id, *where])
    if any(row.doubts for row in timed):
        commands.append(["status", report.run_id, "--why", *where])
    if quotable:
        commands.append(["export", topic, "--output", f"{topic}.csv", *where])
    return tuple(map(shlex.join, commands))


def comparable_property(rows: Sequence[ResultRow]) -> str | None:
    """The first property in which two results that may be quoted differ alone; None without one."""
    sound = [row for row in rows if row.proof == "proven" and row.correct is not False]
    for by in _COMPARED_BY:
        agreeing = [name for name in agreeing_columns(by) if name in AXIS_NAMES]
        if by != "threads":
            agreeing.append("threads")
        groups: dict[tuple[object, ...], set[object]] = defaultdict(set)
        for row in sound:
            groups[tuple(getattr(row, name) for name in agreeing)].add(getattr(row, by))
        if any(len(values - {None}) > 1 for values in groups.values()):
            return by
    return None


def _more_batches(report: RunReport) -> list[str] | None:
    """The same bench with more batches, where nobody chose one and they can be compared."""
    words = measuring_words(report.command)
    batched = all(
        row.mode in ("inference", "training") and row.scenario == "single_stream"
        for row in report.timed
    )
    if not words or words[0] != "bench" or not batched or any("batch" in word for word in words):
        return None
    return [*words, axis_called("batch_size").option, _BATCHES]


def remarks(rows: Sequence[ResultRow]) -> Iterator[str]:
    yield from failures(rows)
    doubts = [
        Remark(row.cell_id, doubt_text(doubt), (doubt.code, doubt.remedy))
        for row in rows
        if row.status == "ok"
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


def print_results(
    report: RunReport,
    *,
    as_json: bool,
    table: TableOptions = _PLAIN,
    quiet: bool = False,
    is_last: bool = True,
) -> None:
    """Print the run's results, the answer, what limits it, and unless more follows what is next."""
    if as_json:
        print_json(report.data())
        return
    print_result_tables(report.results, table, report.pairs)
    if quiet:
        return
    if line := proof_line(report.timed):
        print_line(line)
    print_line()
    changed = change_lines(report.changes, report.results)
    for line in chain(answer_lines(report), failures(report.results), changed):
        print_line(line)
    _print_trust(report)
    if traces := report.traces:
        where = f"trace: {traces[0]}"
        if len(traces) > 1:
            where = f"{len(traces)} traces: {traces[0].parents[1]}/*/*.trace.json"
        print_line(f"{where}; the heaviest operators lie beside it in .operators.txt")
    counts = Counter(row.status for row in report.results)
    summary = ", ".join(f"{n:,} {status}" for status, n in counts.items()) or "no verdict yet"
    print_line(f"run {report.run_id}: {summary}; database: {report.database}")
    commands = next_commands(report) if is_last else ()
    if commands:
        print_line("next:")
    for command in commands:
        print_command(f"{own_name()} {command}")


def print_runs(
    report: RunsReport, *, as_json: bool, table: TableOptions = _PLAIN, quiet: bool = False
) -> None:
    if as_json:
        print_json(report.data())
        return
    for run in report.runs:
        print_results(run, as_json=False, table=table, quiet=quiet)


def print_findings(report: RunsReport, *, as_json: bool, verbose: bool = False) -> None:
    """Print what speaks against the runs' numbers: the cause that explains most, or every one."""
    if as_json:
        runs = [_findings_data(run) for run in report.runs]
        single = report.group_id is None
        print_json(runs[0] if single else {"group_id": report.group_id, "runs": runs})
        return
    for run in report.runs:
        print_line(f"run {run.run_id}")
        reasons = remarks(run.results) if verbose else failures(run.results)
        lines = [*change_lines(run.changes, run.results), *reasons]
        sound = [] if run.grades.cause else ["nothing speaks against its numbers"]
        for line in lines or sound:
            print_line(line)
        if run.grades.cause and not verbose:
            _print_trust(run, always=True)
            print_line(_more_findings(run, run.grades.cause.doubt.code))


def _findings_data(run: RunReport) -> dict[str, object]:
    findings = [*change_lines(run.changes, run.results), *remarks(run.results)]
    known = {"cause": run.grades.cause, "remedy": find_remedy(run)}
    data = {name: fact and asdict(fact) for name, fact in known.items()}
    return {"run_id": run.run_id, **data, "findings": findings}


def _more_findings(run: RunReport, code: DoubtCode) -> str:
    """A line about the findings beside the cause that explains most."""
    rows = [row.doubts for row in run.timed if row.doubts]
    others = {one.code for doubts in rows for one in doubts} - {code}
    unexplained = {
        one.code
        for doubts in rows
        for one in doubts
        if not any(cause.code == code and explains(cause, one) for cause in doubts)
    }
    count = f"{len(others) or 'no'} more {plural(len(others), 'finding')}"
    may = len(others - unexplained)
    explained = f", {may} of which it may explain" if may else ""
    words = ["status", run.run_id, "--why", "--verbose", *database_option(run.database)]
    return f"{count}{explained}: `{own_name()} {shlex.join(words)}` lists each cell's"


def _print_trust(report: RunReport, *, always: bool = False) -> None:
    line = trust_line(report.grades, always=always)
    if line is None:
        return
    print_line(line)
    if remedy := find_remedy(report):
        print_line(remedy.sentence)
        if remedy.command:
            print_command(f"{own_name()} {remedy.command}")
