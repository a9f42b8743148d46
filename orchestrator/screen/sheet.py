"""Sheets: tables with sentences, as a screen, Markdown, CSV, JSON and HTML have them."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from orchestrator.screen.lines import print_content, print_line
from orchestrator.screen.tables import Column, cell_text, print_table
from orchestrator.system.files import is_stdout, output_file, require_free
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.screen.pages.markup import Markup

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


@dataclass(frozen=True)
class Field:
    """A column of a section: its name in files, and its looks for people."""

    name: str
    """The key of rows, and the heading in CSV."""
    column: Column | None = None
    """Its looks; None for what files alone hold."""
    shown: Callable[[Any], object] = lambda value: value
    """The value as people see it, from the one that files hold."""


@dataclass(frozen=True)
class Section:
    """One table."""

    title: str
    """Facts that its rows share; empty if there are none."""
    fields: Sequence[Field]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    """Sentences below it: the answer, then what limits it."""

    @property
    def _visible(self) -> list[tuple[Field, Column]]:
        return [(field, field.column) for field in self.fields if field.column]

    @property
    def columns(self) -> list[Column]:
        """The columns that people see."""
        return [column for _, column in self._visible]

    @property
    def texts(self) -> list[list[object]]:
        """Its rows as people see them."""
        shown = [field for field, _ in self._visible]
        return [[field.shown(row.get(field.name)) for field in shown] for row in self.rows]


@dataclass(frozen=True)
class Sheet:
    """Tables with sentences."""

    title: str
    sections: Sequence[Section]
    notes: Sequence[str]
    """Sentences below all tables."""
    data: object
    """The answer as JSON has it."""


def print_sheet(sheet: Sheet, *, wide: bool = False) -> None:
    """Print it on the terminal."""
    for number, section in enumerate(sheet.sections):
        if number:
            print_line("")
        if section.title:
            print_line(section.title)
        print_table(section.columns, section.texts, wide=wide)
        for note in section.notes:
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
    if output is None or is_stdout(output):
        content = BytesIO()
        _WRITERS[form](sheet, content)
        print_content(content.getvalue())
        return
    with output_file(output) as file:
        _WRITERS[form](sheet, file)


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
    named = suffixes.get(output.suffix.lower())
    if named is None:
        raise UsageError(
            f"--output {output}: its name says no format",
            hint=f"names end with {', '.join(suffixes)}; or add `--format`",
        )
    return named


def _write_csv(sheet: Sheet, file: IO[bytes]) -> None:
    """All sections, one below the other; more than one begin with the name of theirs."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    several = len(sheet.sections) > 1
    for number, section in enumerate(sheet.sections):
        same = number and _names(section) == _names(sheet.sections[0])
        if not same:
            writer.writerow([*(("section",) if several else ()), *_names(section)])
        for row in section.rows:
            values = [_plain(row.get(field.name)) for field in section.fields]
            writer.writerow([*((section.title,) if several else ()), *values])
    file.write(text.getvalue().encode())


def _names(section: Section) -> list[str]:
    return [field.name for field in section.fields]


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _write_markdown(sheet: Sheet, file: IO[bytes]) -> None:
    from orchestrator.store import markdown_text

    parts = [f"## {markdown_text(sheet.title)}\n"] if sheet.title else []
    for section in sheet.sections:
        title = [f"**{markdown_text(section.title)}**\n"] if section.title else []
        notes = (f"{markdown_text(note)}\n" for note in section.notes)
        parts += [*title, markdown_table(section), *notes]
    parts += [f"{markdown_text(note)}\n" for note in sheet.notes]
    file.write("\n".join(parts).encode())


def markdown_table(section: Section) -> str:
    """The rows of a section as a table of GitHub's Markdown."""
    from orchestrator.store import markdown_row, markdown_text

    rows = [markdown_row(markdown_text(column.heading) for column in section.columns)]
    rows.append(markdown_row("---:" if column.right else "---" for column in section.columns))
    rows += [markdown_row(map(_markdown_cell, row)) for row in section.texts]
    return "".join(rows)


def _markdown_cell(value: object) -> str:
    from orchestrator.store import markdown_text

    return markdown_text(cell_text(value))


def _write_json(sheet: Sheet, file: IO[bytes]) -> None:
    from pydantic_core import to_jsonable_python

    text = json.dumps(sheet.data, indent=2, default=to_jsonable_python, ensure_ascii=False)
    file.write(f"{text}\n".encode())


def _write_html(sheet: Sheet, file: IO[bytes]) -> None:
    from orchestrator.screen.pages.markup import element
    from orchestrator.screen.pages.page import Page, PageSection

    sections = [
        PageSection(f"part-{number}", section.title, _html_content(section, sheet.title))
        for number, section in enumerate(sheet.sections, start=1)
    ]
    notes = PageSection("notes", "", [element("p", note) for note in sheet.notes])
    page = Page(sheet.title, [], [*sections, notes], "Made by AccelMatrix.")
    file.write(page.html().encode())


def _html_content(section: Section, title: str) -> list["Markup"]:
    from orchestrator.screen.pages.markup import element
    from orchestrator.screen.pages.table import PageCell, PageColumn, PageTable

    rows = [[PageCell(cell_text(one), _sort_key(one)) for one in row] for row in section.texts]
    columns = [
        PageColumn(
            column.heading, column.right or any(row[number].sort is not None for row in rows)
        )
        for number, column in enumerate(section.columns)
    ]
    table = PageTable(section.title or title, columns, rows).html()
    return [table, *(element("p", note) for note in section.notes)]


def _sort_key(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


_WRITERS: Mapping[str, Callable[[Sheet, IO[bytes]], None]] = {
    "csv": _write_csv,
    "html": _write_html,
    "json": _write_json,
    "markdown": _write_markdown,
}
