"""GitHub's Markdown: tables and prose, with all markup in them escaped."""

from analysis.results.table import Facts, Field, Table
from orchestrator.screen.tables import cell_text
from orchestrator.store import markdown_row, markdown_text
from orchestrator.system.text import escape_control_line


def markdown_table(table: Table) -> str:
    """The rows under the headings that people see."""
    fields = table.columns
    rows = [markdown_row(markdown_text(field.title) for field in fields)]
    rows.append(markdown_row("---:" if field.stands_right else "---" for field in fields))
    rows += (markdown_row(_cell(field, row) for field in fields) for row in table.rows)
    return "".join(rows)


def _cell(field: Field, row: Facts) -> str:
    """A value, in which code can hold no bar."""
    text = cell_text(field, row)
    is_prose = field.kind == "prose" and "|" not in text
    return markdown_prose(text) if is_prose else markdown_text(text)


def markdown_prose(text: str) -> str:
    """A sentence as Markdown shows it, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a sign without its fellow
        return markdown_text(text)
    return "".join(
        f"`{escape_control_line(part)}`" if number % 2 and part else markdown_text(part)
        for number, part in enumerate(parts)
    )
