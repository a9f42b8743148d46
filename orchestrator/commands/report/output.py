"""The output of a report: a page, Markdown, JSON or a site, its pictures, and what is printed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from analysis.report.report import Report, ReportSection
from analysis.report.topics import REPORT_TOPICS
from analysis.results.table import Table
from orchestrator.commands.report.answer import MadeReport
from orchestrator.commands.report.page import left_out_words, page_foot, report_page, table_notes
from orchestrator.commands.results.answer_words import (
    answer_lines,
    change_lines,
    proof_line,
    trust_line,
)
from orchestrator.screen.lines import print_content, print_line, print_note
from orchestrator.screen.pages.markup import Markup, element, with_code
from orchestrator.screen.pages.page import Page, PageSection
from orchestrator.screen.sheet import (
    json_bytes,
    markdown_prose,
    markdown_table,
    markdown_text,
    named_format,
)
from orchestrator.screen.sheet_output import save_chart
from orchestrator.screen.words.doubts import remedy_of
from orchestrator.system.files import (
    is_stdout,
    output_file,
    output_folder,
    require_free,
    require_free_folder,
)
from orchestrator.system.text import format_size, plural
from runner.contract.errors import NothingToDo, UsageError

_PAGE = "html"
_SUFFIXES: Mapping[str, str] = {
    ".html": _PAGE,
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
}
_RESULT = "result_id"
_INDEX = "index.html"
_SENTENCES = 2
"""Sentences of a report below its link in a site."""


@dataclass(frozen=True)
class ReportOutput:
    """The format and the files that options ask for."""

    form: str | None = None
    """The format; None for that of the file's name, else a page."""
    path: Path | None = None
    """The file; None for the usual page, and for stdout with other formats."""
    charts: Path | None = None
    force: bool = False

    def require(self, database: Path) -> None:
        """Refuse files that cannot be written, before any work is done for them."""
        self._resolved_form()
        if self.path is not None and not is_stdout(self.path):
            require_free("--output", self.path, force=self.force, database=database)
        if self.charts is not None:
            from analysis.charts.drawing import drawing_library

            if self.charts.exists() and not self.charts.is_dir():
                raise UsageError(f"--charts {self.charts}: is a file", hint="name a folder")
            drawing_library()

    def show(self, outcome: MadeReport) -> None:
        """Write the report and its pictures, and say where they are."""
        report, form = _with_answers(outcome), self._resolved_form()
        content = _WRITERS[form](report, outcome.made_from)
        if is_stdout(self.path) or (self.path is None and form != _PAGE):
            print_content(content)
            say = print_note
        else:
            path = self.path or outcome.path
            with output_file(path) as file:
                file.write(content)
            for line in report.answers:
                print_line(line)
            counts = ", ".join(_counts(report))
            print_line(f"report: {path}, {format_size(len(content))}: {counts}")
            say = print_line
        if self.charts is not None:
            for chart in report.charts:
                for suffix in (".png", ".svg"):
                    save_chart(chart, self.charts / f"{chart.name}{suffix}")
            count = len(report.charts)
            drawn = f"{self.charts}: {count} {plural(count, 'chart')} as PNG and SVG"
            say(f"charts: {drawn if count else 'there is nothing to draw'}")

    def _resolved_form(self) -> str:
        if self.form is not None or self.path is None or is_stdout(self.path):
            return self.form or _PAGE
        return named_format(self.path, _SUFFIXES)


def _counts(report: Report) -> Iterator[str]:
    if results := len(report.details):
        yield f"{results:,} {plural(results, 'result')}"
    if report.left_out:
        total = results + report.left_out
        yield f"the limit, of {total:,} (`--limit {total}` for all)"
    charts = len(report.charts)
    yield f"{charts} {plural(charts, 'chart')}"


def _with_answers(outcome: MadeReport) -> Report:
    """The report with all that a reader wants first: the answer of its run, or its grades."""
    report, run = outcome.report, outcome.run
    if run is None:
        line, cause = trust_line(report.grades), report.grades.cause
        trust = f"{line}: {remedy_of(cause.doubt)}" if line and cause else line
        return replace(report, answers=[*report.answers, *filter(None, [trust])])
    lines = (
        *(proof_line(run.timed), *answer_lines(run), trust_line(run.grades)),
        *change_lines(run.changes, run.results),
    )
    return replace(report, answers=[line for line in lines if line])


def _markdown(report: Report, made_from: str) -> bytes:
    """The report as Markdown: all but charts and details."""
    return "\n\n".join(_paragraphs(report, made_from)).encode() + b"\n"


def _paragraphs(report: Report, made_from: str) -> Iterator[str]:
    yield f"# {markdown_text(report.title)}"
    facts = [f"{name}: {value}" for name, value in report.facts.items()]
    if facts:
        yield markdown_text("; ".join(facts))
    yield from map(markdown_prose, report.answers)
    if report.left_out:
        yield markdown_prose(left_out_words(report))
    for section in report.sections:
        yield from _section(section)
    yield markdown_text(f"Made from {made_from}.")


def _section(section: ReportSection) -> Iterator[str]:
    yield f"## {markdown_text(section.title)}"
    yield from map(markdown_prose, section.notes)
    yield from (markdown_prose(f"{chart.title}: {chart.sentence}") for chart in section.charts)
    for table in section.tables:
        if len(section.tables) > 1:
            yield f"### {markdown_text(table.title)}"
        yield from map(markdown_prose, table.answers)
        yield markdown_table(table).rstrip("\n")
        yield from map(markdown_prose, table_notes(table))


def _json(report: Report, made_from: str) -> bytes:
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


_WRITERS: Mapping[str, Callable[[Report, str], bytes]] = {
    _PAGE: report_page,
    "markdown": _markdown,
    "json": _json,
}


def require_site(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds anything but an earlier site."""
    pages = {_INDEX, *(f"{topic}.html" for topic in REPORT_TOPICS)}
    require_free_folder("--output", folder, force=force, is_export=lambda path: str(path) in pages)


def write_site(folder: Path, reports: Iterable[MadeReport]) -> None:
    """Write a folder that a web server can give as it is: all pages, or none."""
    written = [replace(one, report=_with_answers(one)) for one in reports]
    if not written:
        raise NothingToDo(
            "the database holds nothing that a page could show",
            hint="`orchestrator run matrix.yaml` measures",
        )
    index = Page(
        title="Benchmarks",
        lead=[element("p", "Every number comes from a device; its page tells which one and how.")],
        sections=[PageSection(one.report.topic, "", _entry(one.report)) for one in written],
        foot=page_foot(written[0].made_from, has_details=False),
    )
    with output_folder(folder) as new:
        for one in written:
            (new / _file(one.report)).write_bytes(report_page(one.report, one.made_from))
        (new / _INDEX).write_text(index.html(), encoding="utf-8")
    count = len(written)
    print_line(f"site: {folder / _INDEX} leads to {count} {plural(count, 'page')}")


def _entry(report: Report) -> list[Markup]:
    link = element("a", report.title, href=_file(report))
    sentences = (element("p", with_code(sentence)) for sentence in report.answers[:_SENTENCES])
    return [element("h2", link), *sentences]


def _file(report: Report) -> str:
    return f"{report.topic}.html"
