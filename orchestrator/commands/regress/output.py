"""The output of verdicts: which format, which file, and what a terminal shows below them."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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
from orchestrator.screen.sheet_output import draw_chart
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


@dataclass(frozen=True)
class RegressionOutput:
    """The format, the file and the width that options ask for."""

    form: str | None = None
    """The format; None for that of the file's name, else a table."""
    path: Path | None = None
    """The file; None for stdout."""
    chart: Path | None = None
    """The file to draw into; None if nothing is drawn."""
    force: bool = False
    """True if files may be replaced."""
    wide: bool = False
    """True if a table leaves out no column, and no cell without a change."""
    suffixes: Mapping[str, str] = field(default_factory=lambda: VERDICT_SUFFIXES)
    """Formats by the ends of files' names."""

    def require(self, database: Path) -> None:
        """Refuse a file that cannot be written, before any work is done for it.

        Raises:
            UsageError: it exists, is the database or has a name that says no format.
        """
        require_output(
            self.form, self.path, force=self.force, database=database, suffixes=self.suffixes
        )
        if self.chart is not None:
            from orchestrator.screen.chart_files import require_chart

            require_chart("--chart", self.chart, force=self.force, database=database)

    def show(self, answer: RegressionAnswer) -> None:
        """Print the verdicts, or write them into the file.

        Raises:
            StoreError: the file cannot be written.
        """
        form = sheet_format(self.form, self.path, self.suffixes)
        if form == ON_SCREEN:
            print_verdicts(answer, wide=self.wide)
        elif form not in _WRITERS:
            show_sheet(regression_sheet(answer, form), form, self.path)
        elif self.path is None or is_stdout(self.path):
            print_content(_WRITERS[form](answer))
        else:
            with output_file(self.path) as file:
                file.write(_WRITERS[form](answer))

    def draw(self, answer: RegressionAnswer) -> None:
        """Draw the series that changed most, if a chart was asked for.

        Raises:
            UsageError: the format needs an extra that is missing.
            StoreError: the file cannot be written.
        """
        draw_chart(self.chart, answer.chart)

    def require_search(self) -> None:
        """Refuse a format or a chart that searches for causes do not have.

        Raises:
            UsageError: it is for verdicts alone.
        """
        if self.chart is not None:
            raise UsageError("--chart: draws verdicts alone", hint="leave it out with --bisect")
        if (form := self._search_format) not in SHEET_FORMATS:
            raise UsageError(f"--format {form}: is for verdicts alone", hint="`--format json`")

    @property
    def _search_format(self) -> str:
        return sheet_format(self.form, self.path, self.suffixes)

    def show_search(self, proposal: Proposal) -> None:
        """Print how far the search for causes is, or write it into the file.

        Raises:
            StoreError: the file cannot be written.
        """
        form = self._search_format
        show_sheet(bisection_sheet(proposal, form), form, self.path, wide=self.wide)
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
