"""Tables of pages: they sort, filter, and open what is known of a number."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.screen.pages.markup import Markup, element, with_code


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


@dataclass(frozen=True)
class PageColumn:
    """A column of a table."""

    heading: str
    right: bool = False
    """True for numbers."""
    meaning: str | None = None
    """The meaning of its heading, in a sentence."""


@dataclass(frozen=True)
class PageTable:
    """A table."""

    caption: str
    columns: Sequence[PageColumn]
    rows: Sequence[Sequence[PageCell]]
    interactive: bool = True
    """True if it can be sorted and, with several rows, filtered."""

    def html(self) -> Markup:
        """The table in a region that scrolls where it is wider than the page."""
        head = [
            element("th", column.heading, scope="col", class_=_side(column), title=column.meaning)
            for column in self.columns
        ]
        table = element(
            "table",
            element("caption", self.caption),
            element("thead", element("tr", head)),
            element("tbody", [self._row(row) for row in self.rows]),
            data_sortable=self.interactive and len(self.rows) > 1,
        )
        return element(
            "div",
            table,
            class_="table",
            role="region",
            tabindex=0,
            aria_label=f"Table: {self.caption}",
        )

    def _row(self, row: Sequence[PageCell]) -> Markup:
        cells = (_cell(*pair) for pair in zip(row, self.columns, strict=True))
        return element("tr", list(cells))


def _cell(cell: PageCell, column: PageColumn) -> Markup:
    classes = " ".join(filter(None, (_side(column), cell.mark))) or None
    content = (
        element("button", cell.text, type="button", data_detail=cell.detail)
        if cell.detail
        else with_code(cell.text)
    )
    sort = None if cell.sort is None else str(cell.sort)
    return element("td", content, class_=classes, data_sort=sort)


def _side(column: PageColumn) -> str | None:
    return "n" if column.right else None
