"""A report as Markdown, and as JSON for other programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from analysis.report.report import Report, ReportSection
from analysis.results.table import Table
from orchestrator.screen.markdown import markdown_prose, markdown_table, markdown_text
from orchestrator.screen.sheet import json_bytes
from orchestrator.system.text import plural

_RESULT = "result_id"


def report_markdown(report: Report, *, made_from: str) -> bytes:
    """The report as Markdown: all but charts and details."""
    return "\n\n".join(_paragraphs(report, made_from)).encode() + b"\n"


def _paragraphs(report: Report, made_from: str) -> Iterator[str]:
    yield f"# {markdown_text(report.title)}"
    facts = [f"{name}: {value}" for name, value in report.facts.items()]
    if facts:
        yield markdown_text("; ".join(facts))
    yield from map(markdown_prose, report.answers)
    if report.left_out:
        yield markdown_text(left_out_words(report))
    for section in report.sections:
        yield from _section(section)
    yield markdown_text(f"Made from {made_from}.")


def _section(section: ReportSection) -> Iterator[str]:
    yield f"## {markdown_text(section.title)}"
    yield from map(markdown_prose, section.notes)
    for chart in section.charts:
        yield markdown_prose(f"{chart.title}: {chart.sentence}")
    for table in section.tables:
        if len(section.tables) > 1:
            yield f"### {markdown_text(table.title)}"
        yield from map(markdown_prose, table.answers)
        yield markdown_table(table).rstrip("\n")
        yield from map(markdown_prose, table.notes)


def report_json(report: Report, *, made_from: str) -> bytes:
    """The report as JSON: values as they are, charts as Vega-Lite without colours."""
    data = {
        "topic": report.topic,
        "title": report.title,
        "made_from": made_from,
        "facts": report.facts,
        "answers": list(report.answers),
        "left_out": report.left_out,
        "sections": [_section_data(section) for section in report.sections],
        "details": {result: asdict(detail) for result, detail in report.details.items()},
    }
    return json_bytes(data)


def _section_data(section: ReportSection) -> Mapping[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "notes": list(section.notes),
        "tables": [_table_data(table) for table in section.tables],
        "charts": [
            {"name": one.name, "title": one.title, "sentence": one.sentence, "spec": one.spec}
            for one in section.charts
        ],
    }


def _table_data(table: Table) -> Mapping[str, Any]:
    bounds = [name for one in table.columns for name in (one.low, one.high) if name]
    names = dict.fromkeys((*(column.name for column in table.columns), *bounds))
    return {
        "name": table.name,
        "title": table.title,
        "columns": {column.name: column.title for column in table.columns},
        "rows": [_row_data(row, names) for row in table.rows],
        "notes": list(table.notes),
        "left_out": table.left_out,
    }


def _row_data(row: Mapping[str, Any], names: Mapping[str, None]) -> Mapping[str, Any]:
    result = {_RESULT: row[_RESULT]} if _RESULT in row else {}
    return result | {name: row.get(name) for name in names}


def left_out_words(report: Report) -> str:
    """A sentence about the results that a report leaves out."""
    count = f"{report.left_out:,} older {plural(report.left_out, 'result')}"
    return (
        f"{count} of this selection are left out; --model, --select, --since and the other filters"
        " choose what is shown."
    )
