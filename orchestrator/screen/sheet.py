"""Sheets: tables with sentences, as a screen, Markdown, CSV, JSON and HTML have them."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from analysis.results.table import Field, RowFacts, Table
from orchestrator.screen.lines import print_content, print_line
from orchestrator.screen.tables import cell_text, print_table
from orchestrator.system.files import is_stdout, output_file, require_free
from orchestrator.system.text import escape_control_line
from runner.contract.errors import UsageError

ON_SCREEN = "table"
SHEET_SUFFIXES: Mapping[str, str] = {
    ".csv": "csv",
    ".html": "html",
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
}
"""The format that a file's name asks for."""
SHEET_FORMATS = (ON_SCREEN, "markdown", "csv", "json", "html")
_SPECIAL = re.compile(r"[\\`*<|~\[\]]|(?<![^\W_])_|_(?![^\W_])")
"""Markup of Markdown; an underscore inside a word is none."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Sheet:
    """Tables with sentences."""

    title: str
    tables: Sequence[Table]
    notes: Sequence[str]
    data: object
    """The answer as JSON has it."""
    rows: Sequence[RowFacts] = ()
    """The answer as CSV has it; empty if those are the rows of the tables."""


def print_sheet(sheet: Sheet, *, wide: bool = False) -> None:
    for number, table in enumerate(sheet.tables):
        if number:
            print_line("")
        if table.title:
            print_line(table.title)
        print_table(table, wide=wide)
        for note in table.notes:
            print_line(note)
    for note in sheet.notes:
        print_line(note)


def show_sheet(sheet: Sheet, form: str | None, output: Path | None, *, wide: bool = False) -> None:
    """Print a sheet, or write it into a file, whole or not at all.

    The format is the one asked for, or that of the file's name, else a table.

    Raises:
        StoreError: the file cannot be written.
    """
    form = sheet_format(form, output)
    if form == ON_SCREEN:
        print_sheet(sheet, wide=wide)
        return
    content = _WRITERS[form](sheet)
    if output is None or is_stdout(output):
        print_content(content)
        return
    with output_file(output) as file:
        file.write(content)


def require_output(
    form: str | None,
    output: Path | None,
    *,
    force: bool,
    database: Path,
    suffixes: Mapping[str, str] = SHEET_SUFFIXES,
) -> None:
    """Refuse an output that cannot be written, before any work is done for it.

    Raises:
        UsageError: the format is unknown or for the screen alone, or the file exists.
    """
    sheet_format(form, output, suffixes)
    if output is not None and not is_stdout(output):
        require_free("--output", output, force=force, database=database)


def sheet_format(
    form: str | None, output: Path | None, suffixes: Mapping[str, str] = SHEET_SUFFIXES
) -> str:
    """The format requested, or that of the file's name, else a table.

    Raises:
        UsageError: tables are for the screen, or the name says no format.
    """
    to_file = output is not None and not is_stdout(output)
    if to_file and form == ON_SCREEN:
        raise UsageError(
            "--output: tables are for the screen",
            hint=f"`--format` takes {', '.join(dict.fromkeys(suffixes.values()))}",
        )
    if form or not to_file or output is None:
        return form or ON_SCREEN
    return named_format(output, suffixes)


def named_format(output: Path, suffixes: Mapping[str, str]) -> str:
    """The format that the file's name says; it is refused if it says none."""
    form = suffixes.get(output.suffix.lower())
    if form is None:
        raise UsageError(
            f"--output {output}: its name says no format",
            hint=f"names end with {', '.join(suffixes)}; or add `--format`",
        )
    return form


def json_bytes(data: object) -> bytes:
    """Plain data, frozen values and models as a file of JSON, in UTF-8 where that can hold them."""
    from pydantic_core import to_jsonable_python

    text = json.dumps(data, indent=2, default=to_jsonable_python, ensure_ascii=False)
    return f"{text}\n".encode(errors="backslashreplace")


def _csv(sheet: Sheet) -> bytes:
    """The rows, else all tables, one below the other; more than one begin with their title."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if sheet.rows:
        names = list(dict.fromkeys(chain.from_iterable(sheet.rows)))
        writer.writerows([names, *(_values(row, names) for row in sheet.rows)])
    several = len(sheet.tables) > 1
    above: list[str] = []
    for table in () if sheet.rows else sheet.tables:
        names = [field.name for field in table.fields]
        if names != above:
            writer.writerow(["section", *names] if several else names)
            above = names
        for row in table.rows:
            writer.writerow([*([table.title] if several else []), *_values(row, names)])
    return text.getvalue().encode()


def _values(row: RowFacts, names: Sequence[str]) -> list[object]:
    return [
        json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
        for value in (row.get(name) for name in names)
    ]


def _markdown(sheet: Sheet) -> bytes:
    parts = [f"## {markdown_text(sheet.title)}\n"] if sheet.title else []
    for table in sheet.tables:
        parts += [f"**{markdown_text(table.title)}**\n"] if table.title else []
        parts += [markdown_table(table), *(f"{markdown_text(note)}\n" for note in table.notes)]
    parts += [f"{markdown_text(note)}\n" for note in sheet.notes]
    return "\n".join(parts).encode()


def markdown_text(text: str) -> str:
    """A text as GitHub's Markdown shows it, with its markup escaped."""
    lines = (escape_control_line(line) for line in _LINE_BREAK.split(text))
    return "<br>".join(_SPECIAL.sub(r"\\\g<0>", line.replace("&", "&amp;")) for line in lines)


def markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def markdown_table(table: Table) -> str:
    """The rows under the headings that people see."""
    fields = table.columns
    rows = [markdown_row(markdown_text(field.title) for field in fields)]
    rows.append(markdown_row("---:" if field.stands_right else "---" for field in fields))
    rows += (markdown_row(_markdown_cell(field, row) for field in fields) for row in table.rows)
    return "".join(rows)


def _markdown_cell(field: Field, row: RowFacts) -> str:
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


def _html(sheet: Sheet) -> bytes:
    from orchestrator.screen.pages.markup import element
    from orchestrator.screen.pages.page import Page, PageSection, table_html

    sections = []
    for number, table in enumerate(sheet.tables, start=1):
        shown = table_html(table, table.title or sheet.title)
        notes = (element("p", note) for note in table.notes)
        sections.append(PageSection(f"part-{number}", table.title, [shown, *notes]))
    last = PageSection("notes", "", [element("p", note) for note in sheet.notes])
    page = Page(sheet.title, [], [*sections, last], "Made by AccelMatrix.")
    return page.html().encode()


_WRITERS: Mapping[str, Callable[[Sheet], bytes]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": lambda sheet: json_bytes(sheet.data),
    "html": _html,
}
