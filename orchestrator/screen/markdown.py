"""GitHub's Markdown: tables and prose, with all markup in them escaped."""

import re
from collections.abc import Iterable

from analysis.results.table import Field, RowFacts, Table
from orchestrator.screen.tables import cell_text
from orchestrator.system.text import escape_control_line

_SPECIAL = re.compile(r"[\\`*<|~\[\]]|(?<![^\W_])_|_(?![^\W_])")
"""Markup of Markdown; an underscore inside a word is none."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


def markdown_text(text: str) -> str:
    """A text as Markdown shows it, with its markup escaped."""
    return "<br>".join(map(_escaped, _LINE_BREAK.split(text)))


def _escaped(line: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", escape_control_line(line).replace("&", "&amp;"))


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a table of GitHub's Markdown."""
    return f"| {' | '.join(cells)} |\n"


def markdown_table(table: Table) -> str:
    """The rows under the headings that people see."""
    fields = table.columns
    rows = [markdown_row(markdown_text(field.title) for field in fields)]
    rows.append(markdown_row("---:" if field.stands_right else "---" for field in fields))
    rows += (markdown_row(_cell(field, row) for field in fields) for row in table.rows)
    return "".join(rows)


def _cell(field: Field, row: RowFacts) -> str:
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
