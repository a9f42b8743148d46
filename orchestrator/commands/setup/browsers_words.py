"""Browsers on a terminal: which backends work in each."""

from collections.abc import Sequence

from analysis.results.table import Field, wrapping
from orchestrator.commands.setup.browsers import BrowserFinding
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from runner.contract.installation import how_to_install

_COLUMNS: tuple[str | Field, ...] = (
    "browser",
    "version",
    "backend",
    "works",
    *wrapping("device, or why not"),
)


def print_browsers(findings: Sequence[BrowserFinding], *, as_json: bool) -> None:
    """One row for each backend in each browser."""
    if as_json:
        print_json(findings)
        return
    if not findings:
        print_line(f"There is no browser here: {how_to_install('browser')} installs one.")
        return
    rows = [(one.browser, one.version, one.backend, one.works, one.message) for one in findings]
    print_lines(_COLUMNS, rows)
    print_line()
    print_line("ACCELMATRIX_BROWSER takes one of them for `--launcher process`.")
