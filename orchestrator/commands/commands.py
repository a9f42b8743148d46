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


COMMANDS: Mapping[str, ListedCommand] = {
    "run": ListedCommand(
        "measure.run:run", "Measure the cells of a matrix, or finish an earlier run."
    ),
    "bench": ListedCommand(
        "measure.bench:bench", "Measure without a file: the options are the matrix."
    ),
    "verify": ListedCommand(
        "measure.verify:verify", "Check that models work and are right, without timing."
    ),
    "replay": ListedCommand(
        "measure.replay:replay", "Measure one result again and show both side by side."
    ),
    "plan": ListedCommand(
        "measure.plan:plan", "Show every cell with its decision, reason and estimate."
    ),
    "prepare": ListedCommand(
        "measure.prepare:prepare", "Export every graph that a matrix needs, as `run` does."
    ),
    "browser": ListedCommand(
        "measure.browser:group", "Serve a page that measures on one's own device."
    ),
    "fleet": ListedCommand(
        "fleet.group:group", "Measure on many machines: make a fleet, join it, see it."
    ),
    "status": ListedCommand(
        "results.status:status", "Show what the database holds, or the verdicts of one run."
    ),
    "compare": ListedCommand(
        "results.compare:compare", "Compare results by one property, or two runs cell by cell."
    ),
    "regress": ListedCommand(
        "results.regress:regress", "Judge a run against a baseline, with an exit code for a CI."
    ),
    "compatibility": ListedCommand(
        "results.compatibility:compatibility", "Show how well each model works on each backend."
    ),
    "family": ListedCommand(
        "results.family:family",
        "Summarise families: best backend, int8's memory, scaling.",
    ),
    "query": ListedCommand(
        "results.results:query_command", "Ask the database in SQL, or show a view by its name."
    ),
    "trend": ListedCommand(
        "results.trend:trend", "Show a metric over time, and what changed where it did."
    ),
    "predict": ListedCommand(
        "predictions.group:group", "Predict what was not measured from what was."
    ),
    "recommend": ListedCommand(
        "predictions.recommend:recommend",
        "Rank backend, runtime, precision and batch of a model.",
    ),
    "next": ListedCommand(
        "predictions.next:next_",
        "Choose the cells whose measurement helps predictions most.",
    ),
    "report": ListedCommand(
        "results.report:report", "Write results as a page to show, with tables and charts."
    ),
    "merge": ListedCommand("results.results:merge_command", "Merge records into the database."),
    "export": ListedCommand(
        "results.export:export", "Write results to a table, or to a bundle to share."
    ),
    "import": ListedCommand("results.imports:import_", "Import what other benchmarks measured."),
    "validate": ListedCommand(
        "results.validate:validate", "Check the database for impossible and contradictory values."
    ),
    "maintain": ListedCommand(
        "results.maintain:maintain", "Give back free space; drop old runs or compact their files."
    ),
    "snapshot": ListedCommand(
        "results.snapshots:snapshot", "Copy the database, to compare with or to go back to."
    ),
    "restore": ListedCommand(
        "results.snapshots:restore", "Put a snapshot in the database's place."
    ),
    "doctor": ListedCommand(
        "setup.doctor:doctor", "Show which backends can run here, and what is missing."
    ),
    "explain": ListedCommand(
        "setup.explain:explain", "Explain a word of the screen; without one, list them."
    ),
    "schema": ListedCommand("measure.plan:schema", "Print the JSON schema of the matrix file."),
    "images": ListedCommand(
        "setup.images:group", "List, build, pull, push, verify, save and remove images."
    ),
    "models": ListedCommand("setup.models:group", "List and show models."),
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
        """Write their list, for which none is imported."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.sentence) for name, command in COMMANDS.items()])


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
