"""A page: one HTML file with its style, scripts, tables and data, that needs nothing else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from analysis.charts.chart import colour_variables
from analysis.charts.drawing import source_hash
from analysis.results.table import Field, RowFacts, Table, is_number
from orchestrator.screen.pages.markup import Markup, element, json_for_script, markup, with_code
from orchestrator.screen.tables import cell_text, stands_right


@dataclass(frozen=True)
class Page:
    """The content of a page."""

    title: str
    lead: Sequence[Markup]
    sections: Sequence["PageSection"]
    foot: str
    """The line at its end: by whom it was made, of what and when."""
    data: Mapping[str, object] = field(default_factory=dict)
    """Data for the script: `details` and the `columns` they are of, `charts` by name."""
    scripts: Sequence[str] = ()
    """Scripts that the page's own one needs."""

    def html(self) -> str:
        style, scripts = _style(), [*self.scripts, _resource("page.js")]
        policy = (
            f"default-src 'none'; script-src {' '.join(map(source_hash, scripts))};"
            f" style-src {source_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
        )
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="referrer", content="no-referrer"),
            element("meta", name="generator", content="AccelMatrix"),
            element("title", f"{self.title} · AccelMatrix"),
            element("style", Markup(style)),
        )
        data = element(
            "script", json_for_script(dict(self.data)), type="application/json", id="data"
        )
        code = [element("script", Markup(script)) for script in scripts]
        body = element(
            "body",
            element("a", "Skip to the results", href="#main", class_="skip"),
            element("header", element("h1", self.title), self.lead, self._contents()),
            element("main", [section.html() for section in self.sections], id="main"),
            element("footer", element("p", self.foot)),
        )
        opened = body.removesuffix("</body>")
        return (
            f'<!doctype html>\n<html lang="en">{head}{opened}{data}{markup(code)}</body></html>\n'
        )

    def _contents(self) -> Markup | None:
        links = [
            element("a", section.title, href=f"#{section.name}")
            for section in self.sections
            if section.title
        ]
        return element("nav", links, aria_label="Contents") if len(links) > 1 else None


@dataclass(frozen=True)
class PageSection:
    """A part of a page with a heading of its own."""

    name: str
    """The fragment that links to it."""
    title: str
    """Its heading; empty if it needs none."""
    content: Sequence[Markup]

    def html(self) -> Markup:
        if not self.title:
            return element("section", self.content)
        heading = f"{self.name}-heading"
        title = element("h2", self.title, id=heading)
        return element("section", title, self.content, id=self.name, aria_labelledby=heading)


@cache
def _style() -> str:
    """The style sheet, with a variable for the colour of each backend."""
    light, dark = colour_variables("light"), colour_variables("dark")
    colours = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{colours}\n{_resource('page.css')}"


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class PageCell:
    """A value of a table."""

    text: str
    sort: float | str | None = None
    """The value to sort by; None for its text."""
    detail: str | None = None
    """The detail that it opens, as `RESULT:COLUMN`; None if there is none."""
    mark: str | None = None
    """Its class in the style sheet."""


def page_cell(field: Field, row: RowFacts) -> PageCell:
    """A value that opens nothing."""
    value = field.value(row)
    return PageCell(cell_text(field, row), value if is_number(value) else None)


def table_html(
    table: Table, caption: str, cell: Callable[[Field, RowFacts], PageCell] = page_cell
) -> Markup:
    """The table in a region that scrolls where it is wider than the page."""
    columns = [(field, "n" if stands_right(field, table) else None) for field in table.columns]
    head = [element("th", field.title, scope="col", class_=side) for field, side in columns]
    rows = [
        element("tr", [_cell(cell(field, row), side) for field, side in columns])
        for row in table.rows
    ]
    content = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", rows),
        data_sortable=table.is_list and len(table.rows) > 1,
    )
    label = f"Table: {caption}"
    return element("div", content, class_="table", role="region", tabindex=0, aria_label=label)


def _cell(cell: PageCell, side: str | None) -> Markup:
    classes = " ".join(filter(None, (side, cell.mark))) or None
    content = (
        element("button", cell.text, type="button", data_detail=cell.detail)
        if cell.detail
        else with_code(cell.text)
    )
    sort = None if cell.sort is None else str(cell.sort)
    return element("td", content, class_=classes, data_sort=sort)
