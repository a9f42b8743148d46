"""The output of a report: a page, Markdown or JSON, its pictures, and what the screen says."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from analysis.report.report import Report
from analysis.results.trust import GradeSummary
from orchestrator.commands.report.answer import MadeReport
from orchestrator.commands.report.page import report_page
from orchestrator.commands.results.answer_words import (
    answer_lines,
    change_lines,
    proof_line,
    trust_line,
)
from orchestrator.screen.chart_files import save_chart
from orchestrator.screen.lines import print_content, print_line, print_note
from orchestrator.screen.report_markdown import report_json, report_markdown
from orchestrator.screen.words.doubts import remedy_of
from orchestrator.system.files import is_stdout, output_file, require_free
from orchestrator.system.text import format_size, plural
from runner.contract.errors import UsageError

_PAGE = "html"
_SUFFIXES: Mapping[str, str] = {
    ".html": _PAGE,
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
}
_PICTURES = (".png", ".svg")


@dataclass(frozen=True)
class ReportOutput:
    """The format and the files that options ask for."""

    form: str | None = None
    """The format; None for that of the file's name, else a page."""
    path: Path | None = None
    """The file; None for the usual page, and for stdout with other formats."""
    charts: Path | None = None
    """The folder of pictures; None if none are asked for."""
    force: bool = False
    """True if files may be replaced."""

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
        outcome = with_answers(outcome)
        form = self._resolved_form()
        content = _WRITERS[form](outcome)
        if is_stdout(self.path) or (self.path is None and form != _PAGE):
            print_content(content)
            say = print_note
        else:
            path = self.path or outcome.path
            with output_file(path) as file:
                file.write(content)
            _print_summary(outcome, path, len(content))
            say = print_line
        if self.charts is not None:
            _save_pictures(outcome.report, self.charts)
            count = len(outcome.report.charts)
            drawn = f"{self.charts}: {count} {plural(count, 'chart')} as PNG and SVG"
            say(f"charts: {drawn if count else 'there is nothing to draw'}")

    def _resolved_form(self) -> str:
        if self.form is not None or self.path is None or is_stdout(self.path):
            return self.form or _PAGE
        form = _SUFFIXES.get(self.path.suffix.lower())
        if form is None:
            raise UsageError(
                f"--output {self.path}: its name says no format",
                hint=f"names end with {', '.join(_SUFFIXES)}; or add `--format`",
            )
        return form


def with_answers(outcome: MadeReport) -> MadeReport:
    """The same report with all sentences that a reader wants first."""
    return replace(outcome, report=replace(outcome.report, answers=_answers(outcome)))


def _answers(outcome: MadeReport) -> Sequence[str]:
    """The sentences of a run, where the report is about one, and those of the report."""
    run = outcome.run
    if run is None:
        return [*outcome.report.answers, *_trust(outcome.report.grades)]
    answers = (proof_line(run.timed), *answer_lines(run), trust_line(run.grades))
    changed = change_lines(run.changes, run.results)
    return [*filter(None, chain(answers, changed))]


def _trust(grades: GradeSummary) -> Iterator[str]:
    """The grades and the cause that explains most, with its remedy."""
    line = trust_line(grades)
    if line is not None:
        yield f"{line}: {remedy_of(grades.cause.doubt)}" if grades.cause else line


def _page(outcome: MadeReport) -> bytes:
    return report_page(outcome.report, made_from=outcome.made_from)


def _markdown(outcome: MadeReport) -> bytes:
    return report_markdown(outcome.report, made_from=outcome.made_from)


def _json(outcome: MadeReport) -> bytes:
    return report_json(outcome.report, made_from=outcome.made_from)


_WRITERS: Mapping[str, Callable[[MadeReport], bytes]] = {
    _PAGE: _page,
    "markdown": _markdown,
    "json": _json,
}


def _print_summary(outcome: MadeReport, path: Path, size: int) -> None:
    for line in outcome.report.answers:
        print_line(line)
    print_line(f"report: {path}, {format_size(size)}: {', '.join(_counts(outcome.report))}")


def _counts(report: Report) -> Iterator[str]:
    if results := len(report.details):
        yield f"{results:,} {plural(results, 'result')}"
    if report.left_out:
        yield f"{report.left_out:,} older ones left out"
    charts = len(report.charts)
    yield f"{charts} {plural(charts, 'chart')}"


def _save_pictures(report: Report, folder: Path) -> None:
    for chart in report.charts:
        for suffix in _PICTURES:
            save_chart(chart, folder / f"{chart.name}{suffix}")
