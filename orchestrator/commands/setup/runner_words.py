"""A machine as a self-hosted runner, on a terminal."""

from typing import TYPE_CHECKING

from analysis.results.table import Field, wrapping
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines

if TYPE_CHECKING:
    from orchestrator.commands.setup.runner_machine import RunnerCheck, RunnerReport

_COLUMNS: tuple[str | Field, ...] = ("check", "ok", *wrapping("found", "what to do"))


def print_runner(report: "RunnerReport", *, as_json: bool) -> None:
    """Every check with its remedy, and the labels to register the runner with."""
    if as_json:
        checks = [vars(check) for check in report.checks]
        facts = {"backends": [*report.backends], "labels": [*report.labels]}
        print_json({"ready": report.is_ready, **facts, "checks": checks})
        return
    rows = [(check.name, _word(check), check.message, check.remedy) for check in report.checks]
    print_lines(_COLUMNS, rows)
    print_line()
    if report.labels:
        labels = ",".join(report.labels)
        print_line(f"labels: {labels}")
        print_line(f"./config.sh --url https://github.com/OWNER/REPOSITORY --labels {labels}")


def _word(check: "RunnerCheck") -> str:
    if check.ok:
        return "yes"
    return "no" if check.importance == "needed" else "better not"
