"""A report as a page: tables that sort and filter, details of each number, charts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from analysis.charts.chart import PAGE, Chart
from analysis.charts.drawing import vega_script
from analysis.report.report import Report, ReportSection, ResultDetail
from analysis.results.table import Field, RowFacts, Table
from analysis.statistics.numbers import format_number
from orchestrator.screen.pages.markup import Markup, element, with_code
from orchestrator.screen.pages.page import Page, PageCell, PageSection, page_cell, table_html
from orchestrator.system.text import plural

_GRADES = {
    **dict.fromkeys(("A", "B", "High"), "good"),
    **dict.fromkeys(("C", "Medium"), "fair"),
    **dict.fromkeys(("D", "Low", "N/A"), "bad"),
}
_WORDS = {
    **dict.fromkeys(("agree", "within tolerance", "proven", "improvement"), "good"),
    **dict.fromkeys(("partial", "inconclusive"), "fair"),
    **dict.fromkeys(("wrong", "none", "regression"), "bad"),
}
_KINDS = {"prose": "long", "id": "id", "moment": "short"}
_RESULT = "result_id"
_OPEN_CHARTS = 8


class _Details:
    """Numbers that open what is known of them, as the page's script reads it."""

    def __init__(self, details: Mapping[str, ResultDetail]) -> None:
        self._details = details
        self._keys: dict[str, int] = {}
        self._columns: dict[tuple[str, str], int] = {}
        self._headings: list[str] = []
        self._intervals: dict[int, dict[int, str]] = defaultdict(dict)

    def key(self, table: str, column: Field, row: RowFacts) -> str | None:
        """The key of a number's detail; None where nothing is known of it."""
        result = row.get(_RESULT)
        if not column.measured or result not in self._details or row.get(column.name) is None:
            return None
        key = self._keys.setdefault(str(result), len(self._keys))
        number = self._columns.setdefault((table, column.name), len(self._headings))
        if number == len(self._headings):
            self._headings.append(column.title)
        low, high = row.get(column.low or ""), row.get(column.high or "")
        if low is not None and high is not None:
            ends = " to ".join(format_number(float(end)) for end in (low, high))
            self._intervals[key][number] = ends
        return f"{key}:{number}"

    def data(self) -> dict[str, object]:
        details = [
            {**_detail_data(result, self._details[result]), "intervals": self._intervals[key]}
            for result, key in self._keys.items()
        ]
        return {"columns": self._headings, "details": details}


def _detail_data(result_id: str, detail: ResultDetail) -> dict[str, object]:
    return {
        "cell": detail.cell_id,
        "facts": [list(fact) for fact in detail.facts],
        "warm": detail.warmup_ms,
        "timed": detail.timed_ms,
        "warm_count": detail.warmup_count,
        "timed_count": detail.timed_count,
        "command": f"orchestrator replay {result_id}" if detail.is_ours else None,
    }


def report_page(report: Report, made_from: str) -> bytes:
    """The report as one HTML file that opens offline."""
    details = _Details(report.details)
    sections = [_section(section, details) for section in report.sections]
    charts = {chart.name: _drawn(chart) for chart in report.charts}
    page = Page(
        title=report.title,
        lead=[*_lead(report)],
        sections=sections,
        foot=page_foot(made_from, has_details=bool(report.details)),
        data={**details.data(), "charts": charts},
        scripts=[vega_script()] if charts else (),
    )
    return page.html().encode()


def _lead(report: Report) -> Iterator[Markup]:
    facts = [
        element("div", element("dt", name), element("dd", value))
        for name, value in report.facts.items()
    ]
    if facts:
        yield element("dl", facts, class_="facts")
    sentences = [element("p", with_code(sentence)) for sentence in report.answers]
    if sentences:
        yield element("div", sentences, class_="answers")
    if report.left_out:
        yield element("p", with_code(left_out_words(report)), class_="muted")


def _section(section: ReportSection, details: _Details) -> PageSection:
    content = [element("p", with_code(note)) for note in section.notes]
    content += _figures(section.charts)
    for table in section.tables:
        content += _table(table, details, alone=len(section.tables) == 1)
    return PageSection(section.name, section.title, content)


def _table(table: Table, details: _Details, *, alone: bool) -> Iterator[Markup]:
    if not table.rows:
        return
    if not alone:
        yield element("h3", table.title)
    yield from (element("p", with_code(sentence)) for sentence in table.answers)
    yield table_html(table, table.title, lambda field, row: _cell(table.name, field, row, details))
    yield from (element("p", with_code(note), class_="muted") for note in table_notes(table))


def _cell(table: str, field: Field, row: RowFacts, details: _Details) -> PageCell:
    """A number that opens its detail, a word with its colour."""
    cell, value = page_cell(field, row), row.get(field.name)
    sort = value.isoformat() if isinstance(value, datetime) else cell.sort
    return PageCell(cell.text, sort, details.key(table, field, row), _mark(field, value))


def _mark(column: Field, value: Any) -> str | None:
    if column.kind == "grade":
        return _GRADES.get(value)
    if column.kind in _KINDS:
        return _KINDS[column.kind]
    return _WORDS.get(value) if isinstance(value, str) and column.name != "model" else None


def _figures(charts: Sequence[Chart]) -> Iterator[Markup]:
    """Drawings side by side, those beyond the first few folded away."""
    figures = [_figure(chart) for chart in charts]
    if figures:
        yield element("div", figures[:_OPEN_CHARTS], class_="charts")
    if folded := figures[_OPEN_CHARTS:]:
        summary = element("summary", f"{len(folded)} more {plural(len(folded), 'chart')}")
        yield element("details", summary, element("div", folded, class_="charts"))


def _figure(chart: Chart) -> Markup:
    drawing = element(
        "div",
        element("noscript", "The drawing needs JavaScript; its numbers stand in the tables."),
        class_="chart",
        role="img",
        aria_label=f"{chart.title}. {chart.sentence}",
        data_chart=chart.name,
    )
    caption = element("figcaption", with_code(chart.sentence))
    return element("figure", element("h3", chart.title), drawing, caption)


def _drawn(chart: Chart) -> Mapping[str, Any]:
    """The description for the page, whose heading says the title."""
    drawn = {"width": "container", **chart.drawn(PAGE)}
    return {name: value for name, value in drawn.items() if name != "title"}


def page_foot(made_from: str, *, has_details: bool) -> str:
    from runner import __version__

    moment = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    origin = f"Made by AccelMatrix {__version__} on {moment} from {made_from}."
    if not has_details:
        return origin
    return (
        f"{origin} Select a number for its 95 % interval, grade, proof and raw durations; arrow"
        " keys lead to the next one."
    )


def table_notes(table: Table) -> Iterator[str]:
    yield from table.notes
    if table.left_out:
        yield f"{table.left_out:,} more are left out here; --select chooses fewer."


def left_out_words(report: Report) -> str:
    shown = len(report.details)
    total = shown + report.left_out
    return (
        f"{shown:,} of {total:,} results, which is the limit: `--limit {total}` shows all, and"
        " filters such as --select choose others. The newest come first, those without a time last,"
        " by id."
    )
