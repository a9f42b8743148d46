"""Tables of pages: they sort, filter, and open what is known of a number."""

from collections.abc import Callable
from dataclasses import dataclass

from analysis.results.table import Field, RowFacts, Table, is_number
from orchestrator.screen.pages.markup import Markup, element, with_code
from orchestrator.screen.tables import cell_text, stands_right


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
