"""Browsers on a terminal: which backends work in each."""

from collections.abc import Sequence

from orchestrator.commands.setup.browsers import BrowserFinding
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import Column, print_table, wrapping
from runner.contract.installation import how_to_install

_COLUMNS: tuple[str | Column, ...] = (
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
    rows = [
        (one.browser, one.version, one.backend, "yes" if one.works else "no", one.message)
        for one in findings
    ]
    print_table(_COLUMNS, rows)
    print_line()
    print_line("ACCELMATRIX_BROWSER takes one of them for `--launcher process`.")
