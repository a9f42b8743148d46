"""The output of verdicts: which format, which file, and what a terminal shows below them."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.bisect import Proposal
from orchestrator.commands.regress.bisection_words import bisection_commands, bisection_sheet
from orchestrator.commands.regress.document import regression_document
from orchestrator.commands.regress.junit import regression_junit
from orchestrator.commands.regress.markdown import regression_markdown
from orchestrator.commands.regress.next_steps import regression_commands
from orchestrator.commands.regress.table import regression_sheet
from orchestrator.screen.lines import (
    own_name,
    print_command,
    print_content,
    print_line,
)
from orchestrator.screen.sheet import (
    ON_SCREEN,
    SHEET_FORMATS,
    json_bytes,
    print_sheet,
    require_output,
    sheet_format,
    show_sheet,
)
from orchestrator.screen.sparkline import has_blocks
from orchestrator.system.files import is_stdout, output_file
from runner.contract.errors import UsageError

VERDICT_SUFFIXES: Mapping[str, str] = {
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
    ".xml": "junit",
}
"""The format of verdicts that a file's name asks for."""


def require_verdict_output(
    form: str | None, path: Path | None, chart: Path | None, *, force: bool, database: Path
) -> None:
    """Refuse files that cannot be written, before any work is done for them."""
    require_output(form, path, force=force, database=database, suffixes=VERDICT_SUFFIXES)
    if chart is not None:
        from orchestrator.screen.chart_files import require_chart

        require_chart("--chart", chart, force=force, database=database)


def show_verdicts(
    answer: RegressionAnswer,
    form: str | None,
    path: Path | None,
    *,
    wide: bool = False,
    suffixes: Mapping[str, str] = VERDICT_SUFFIXES,
) -> None:
    """Print the verdicts, or write them into the file.

    Args:
        answer: the verdicts.
        form: the format; None for that of the file's name, else a table.
        path: the file; None for stdout.
        wide: True if a table leaves out no column, and no cell without a change.
        suffixes: formats by the ends of files' names.
    """
    form = sheet_format(form, path, suffixes)
    if form == ON_SCREEN:
        print_verdicts(answer, wide=wide)
    elif form not in _WRITERS:
        show_sheet(regression_sheet(answer, form), form, path)
    elif path is None or is_stdout(path):
        print_content(_WRITERS[form](answer))
    else:
        with output_file(path) as file:
            file.write(_WRITERS[form](answer))


def require_search_output(form: str | None, path: Path | None, chart: Path | None) -> None:
    """Refuse a format or a chart that searches for causes do not have."""
    if chart is not None:
        raise UsageError("--chart: draws verdicts alone", hint="leave it out with --bisect")
    if (form := sheet_format(form, path, VERDICT_SUFFIXES)) not in SHEET_FORMATS:
        raise UsageError(f"--format {form}: is for verdicts alone", hint="`--format json`")


def show_search(proposal: Proposal, form: str | None, path: Path | None, *, wide: bool) -> None:
    """Print how far the search for causes is, or write it into the file."""
    form = sheet_format(form, path, VERDICT_SUFFIXES)
    show_sheet(bisection_sheet(proposal, form), form, path, wide=wide)
    if form == ON_SCREEN:
        _print_commands(bisection_commands(proposal))


def print_verdicts(answer: RegressionAnswer, *, wide: bool = False) -> None:
    """Print the verdicts, what they rest on, and commands to go on with."""
    blocks = has_blocks(sys.stdout)
    print_sheet(regression_sheet(answer, ON_SCREEN, wide=wide, blocks=blocks), wide=wide)
    _print_commands(f"{own_name()} {command}" for command in regression_commands(answer))


def _print_commands(commands: Iterable[str]) -> None:
    for number, command in enumerate(commands):
        if not number:
            print_line("next:")
        print_command(command)


def _json(answer: RegressionAnswer) -> bytes:
    return json_bytes(regression_document(answer))


_WRITERS: Mapping[str, Callable[[RegressionAnswer], bytes]] = {
    "json": _json,
    "junit": regression_junit,
    "markdown": regression_markdown,
}
