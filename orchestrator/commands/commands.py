"""The commands, in the order in which help lists them; each is imported when it is called."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from orchestrator.commands.program.program import CommandGroup, Program


@dataclass(frozen=True)
class ListedCommand:
    """A command or a group of them, before it is imported."""

    member: str
    """Its module below `orchestrator.commands`, and its name there."""
    sentence: str
    """The first sentence of its help."""


PANELS: Mapping[str, Mapping[str, ListedCommand]] = {
    "Measure": {
        "run": ListedCommand(
            "measure.run_command:Run", "Measure the cells of a matrix, or finish an earlier run."
        ),
        "bench": ListedCommand(
            "measure.bench_command:Bench", "Measure without a file: the options are the matrix."
        ),
        "verify": ListedCommand(
            "measure.verify_command:Verify", "Check that models work and are right, without timing."
        ),
        "replay": ListedCommand(
            "measure.replay_command:Replay", "Measure one result again and show both side by side."
        ),
        "plan": ListedCommand(
            "measure.plan_command:Plan", "Show every cell with its decision, reason and estimate."
        ),
        "browser": ListedCommand(
            "measure.browser_command:group", "Serve a page that measures on one's own device."
        ),
    },
    "Results": {
        "status": ListedCommand(
            "results.status_command:Status",
            "Show what the database holds, or the verdicts of one run.",
        ),
        "query": ListedCommand(
            "results.query_command:Query",
            "Ask the database in SQL, or show a view by its name.",
        ),
        "report": ListedCommand(
            "report.command:Report", "Write results as a page to show, with tables and charts."
        ),
        "merge": ListedCommand("exchange.merge_command:Merge", "Merge records into the database."),
        "export": ListedCommand(
            "exchange.export_command:Export", "Write results to a table, or to a bundle to share."
        ),
        "import": ListedCommand(
            "exchange.import_command:Import", "Import what other benchmarks measured."
        ),
        "validate": ListedCommand(
            "database.validate_command:Validate",
            "Check the database for impossible and contradictory values.",
        ),
        "maintain": ListedCommand(
            "database.maintain_command:Maintain",
            "Give back free space; drop old runs or compact their files.",
        ),
        "snapshot": ListedCommand(
            "database.snapshots_command:SaveSnapshot",
            "Copy the database, to compare with or to go back to.",
        ),
        "restore": ListedCommand(
            "database.snapshots_command:Restore", "Put a snapshot in the database's place."
        ),
    },
    "Decide": {
        "compare": ListedCommand(
            "compare.command:Compare",
            "Compare results by one property, or two runs cell by cell.",
        ),
        "compatibility": ListedCommand(
            "compatibility.command:Compatibility",
            "Show how well each model works on each backend.",
        ),
        "trend": ListedCommand(
            "trend.command:Trend", "Show a metric over time, and what changed where it did."
        ),
        "regress": ListedCommand(
            "regress.command:Regress",
            "Judge a run against a baseline, with an exit code for a CI.",
        ),
        "predict": ListedCommand(
            "predict.group_command:group", "Predict what was not measured from what was."
        ),
        "recommend": ListedCommand(
            "recommend.command:Recommend",
            "Rank backend, runtime, precision and batch of a model.",
        ),
    },
    "Set up": {
        "doctor": ListedCommand(
            "setup.doctor_command:Doctor", "Show which backends can run here, and what is missing."
        ),
        "explain": ListedCommand(
            "setup.explain_command:Explain", "Explain a word of the screen; without one, list them."
        ),
        "images": ListedCommand(
            "setup.images_command:group", "List, build, pull, push, verify, save and remove images."
        ),
        "models": ListedCommand("setup.models_command:group", "List and show models."),
        "fleet": ListedCommand(
            "fleet.group_command:group", "Measure on many machines: make a fleet, join it, see it."
        ),
    },
}
"""The commands by the heading below which help lists them."""
COMMANDS: Mapping[str, ListedCommand] = {
    name: command for panel in PANELS.values() for name, command in panel.items()
}


class ListedCommands(CommandGroup):
    """The program's commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported; None if there is none."""
        del ctx
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _imported(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write their lists, for which none is imported; all begin their texts in one column."""
        del ctx
        width = max(map(len, COMMANDS))
        for heading, commands in PANELS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(width), command.sentence) for name, command in commands.items()]
                )


def _imported(name: str) -> Any:
    module, _, attribute = COMMANDS[name].member.partition(":")
    value = getattr(import_module(f"orchestrator.commands.{module}"), attribute)
    if not isinstance(value, typer.Typer):
        alone = Program()
        alone.command(name=name)(value)
        return get_command(alone)
    group = get_command(value)
    group.name = name
    return group
