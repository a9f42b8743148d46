"""The commands, in the order in which help lists them; each is imported when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from typer.main import get_command

from orchestrator.commands.program.program import CommandGroup, Program

PANELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Measure": {
        "run": ("measure.run_command", "Measure the cells of a matrix, or finish an earlier run."),
        "bench": ("measure.bench_command", "Measure without a file: the options are the matrix."),
        "verify": (
            "measure.verify_command",
            "Check that models work and are right, without timing.",
        ),
        "replay": (
            "measure.replay_command",
            "Measure one result again and show both side by side.",
        ),
        "plan": ("measure.plan_command", "Show every cell with its decision, reason and estimate."),
        "browser": ("measure.browser.command", "Serve a page that measures on one's own device."),
    },
    "Results": {
        "status": (
            "results.status_command",
            "Show what the database holds, or the verdicts of one run.",
        ),
        "query": ("results.query", "Ask the database in SQL, or show a view by its name."),
        "report": ("report.command", "Write results as a page to show, with tables and charts."),
        "merge": ("exchange.merge_command", "Merge records into the database."),
        "export": ("exchange.export_command", "Write results to a table, or to a bundle to share."),
        "import": ("exchange.import_command", "Import what other benchmarks measured."),
        "database": ("database.command", "Check, tidy, copy, restore and rebuild the database."),
    },
    "Decide": {
        "compare": (
            "compare.command",
            "Compare results by one property, or two runs cell by cell.",
        ),
        "compatibility": (
            "compatibility.command",
            "Show how well each model works on each backend.",
        ),
        "trend": ("trend.command", "Show a metric over time, and what changed where it did."),
        "regress": (
            "regress.command",
            "Judge a run against a baseline, with an exit code for a CI.",
        ),
        "predict": ("predict.group_command", "Predict what was not measured from what was."),
        "recommend": (
            "recommend.command",
            "Rank backend, runtime, precision and batch of a model.",
        ),
    },
    "Set up": {
        "doctor": (
            "setup.doctor_command",
            "Show which backends can run here, and what is missing.",
        ),
        "explain": (
            "setup.explain_command",
            "Explain a word of the screen; without one, list them.",
        ),
        "images": (
            "setup.images_command",
            "List, build, pull, push, verify, save and remove images.",
        ),
        "models": ("setup.models_command", "List and show models."),
        "fleet": ("fleet.group_command", "Show the hosts of a fleet, and what they lack."),
    },
}
"""Commands by the heading below which help lists them: the module of each, whose class is called
like the command, and the first sentence of its help."""
COMMANDS: Mapping[str, tuple[str, str]] = {
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
                    [(name.ljust(width), sentence) for name, (_, sentence) in commands.items()]
                )


def _imported(name: str) -> Any:
    module = import_module(f"orchestrator.commands.{COMMANDS[name][0]}")
    if not hasattr(module, "group"):
        alone = Program()
        alone.command(name=name)(getattr(module, f"{name.title()}Command"))
        return get_command(alone)
    group = get_command(module.group)
    group.name = name
    return group
