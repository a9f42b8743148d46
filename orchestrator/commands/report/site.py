"""Reports as a static site: a page on each topic, and one that leads to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.report.topics import REPORT_TOPICS
from orchestrator.commands.report.answer import MadeReport
from orchestrator.commands.report.output import with_answers
from orchestrator.commands.report.page import page_foot, report_page
from orchestrator.screen.lines import print_line
from orchestrator.screen.pages.markup import Markup, element, with_code
from orchestrator.screen.pages.page import Page, PageSection
from orchestrator.system.files import output_folder, require_free_folder
from orchestrator.system.text import plural
from runner.contract.errors import NothingToDo

INDEX = "index.html"
_SENTENCES = 2
"""Sentences of a report that its link stands above."""


@dataclass(frozen=True)
class Site:
    """A folder that a web server can give as it is."""

    folder: Path

    def require(self, *, force: bool) -> None:
        """Refuse a folder that holds anything but an earlier site."""
        pages = {INDEX, *(f"{topic}.html" for topic in REPORT_TOPICS)}
        require_free_folder(
            "--output", self.folder, force=force, is_export=lambda path: str(path) in pages
        )

    def write(self, reports: Iterable[MadeReport]) -> None:
        """Write all pages, or none."""
        written = [with_answers(one) for one in reports]
        if not written:
            raise NothingToDo(
                "the database holds nothing that a page could show",
                hint="`orchestrator run matrix.yaml` measures",
            )
        with output_folder(self.folder) as folder:
            for one in written:
                page = report_page(one.report, made_from=one.made_from)
                (folder / _file(one)).write_bytes(page)
            (folder / INDEX).write_text(_index(written).html(), encoding="utf-8")
        count = len(written)
        print_line(f"site: {self.folder / INDEX} leads to {count} {plural(count, 'page')}")


def _index(reports: Sequence[MadeReport]) -> Page:
    return Page(
        title="Benchmarks",
        lead=[element("p", "Every number comes from a device; its page tells which one and how.")],
        sections=[PageSection(one.report.topic, "", _entry(one)) for one in reports],
        foot=page_foot(reports[0].made_from, has_details=False),
    )


def _entry(one: MadeReport) -> list[Markup]:
    link = element("a", one.report.title, href=_file(one))
    sentences = one.report.answers[:_SENTENCES]
    return [element("h2", link), *(element("p", with_code(sentence)) for sentence in sentences)]


def _file(one: MadeReport) -> str:
    return f"{one.report.topic}.html"
