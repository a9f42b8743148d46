"""The typer application: its commands, each imported when it is called, and its global options."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

import runner
from orchestrator.commands.program import completion
from orchestrator.commands.program.command import execute
from orchestrator.commands.program.program import READING, CommandGroup, Program, chosen

_MEASURE = {
    "run": ("measure.run_command", "Measure the cells of a matrix, or finish an earlier run."),
    "bench": ("measure.run_command", "Measure without a file: the options are the matrix."),
    "verify": ("measure.verify_command", "Check that models work and are right, without timing."),
    "replay": ("measure.replay_command", "Measure one result again and show both side by side."),
    "plan": ("measure.plan_command", "Show every cell with its decision, reason and estimate."),
    "browser": ("measure.browser_command", "Serve a page that measures on one's own device."),
}
_RESULTS = {
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
}
_DECIDE = {
    "compare": ("compare.command", "Compare results by one property, or two runs cell by cell."),
    "compatibility": ("compatibility.command", "Show how well each model works on each backend."),
    "trend": ("trend.command", "Show a metric over time, and what changed where it did."),
    "regress": ("regress.command", "Judge a run against a baseline, with an exit code for a CI."),
    "predict": ("predict.group_command", "Predict what was not measured from what was."),
    "recommend": ("recommend.command", "Rank backend, runtime, precision and batch of a model."),
}
_SET_UP = {
    "doctor": ("setup.doctor_command", "Show which backends can run here, and what is missing."),
    "explain": ("setup.explain_command", "Explain a word of the screen; without one, list them."),
    "images": ("setup.images_command", "List, build, pull, push, verify, save and remove images."),
    "models": ("setup.models_command", "List and show models."),
    "fleet": ("fleet.group_command", "Show the hosts of a fleet, and what they lack."),
}
PANELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Measure": _MEASURE,
    "Results": _RESULTS,
    "Decide": _DECIDE,
    "Set up": _SET_UP,
}
"""Commands by the heading below which help lists them: the module of each, whose class is called
like the command, and the first sentence of its help."""
COMMANDS: Mapping[str, tuple[str, str]] = {
    name: command for panel in PANELS.values() for name, command in panel.items()
}


class ListedCommands(CommandGroup):
    """The program's commands."""

    def list_commands(self, _: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: Any, cmd_name: str) -> Any:
        """The command of that name, imported; None if there is none."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _imported(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write their lists, for which none is imported; all begin their texts in one column."""
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


EPILOG = """\
Exit codes: 0 each planned cell has a verdict and none failed · 1 some failed · 2 bad matrix, option
or question · 3 nothing to do, or nothing measured · 4 engine unavailable · 5 image missing or build
failed · 6 store or schema mismatch, damaged or missing records, or a full disk · 7 regression found
· 8 inconclusive, or below the required grade · 70 a bug · 130 interrupted.
"""

app = Program(
    name=completion.PROGRAM,
    cls=ListedCommands,
    result_callback=execute,
    help="Run a matrix of ML benchmarks in containers and ask the results in SQL.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_help_option=False,  # typer's own takes no default, and to read that it imports pydantic
    context_settings=dict(READING),
    pretty_exceptions_enable=False,
)


def _keep(context: typer.Context, parameter: typer.CallbackParam, value: bool) -> None:
    """Keep a global option; behind the command, its absence changes nothing."""
    if value or context.parent is None:
        setattr(chosen, parameter.name, value)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"orchestrator {runner.__version__}")
        raise typer.Exit


def _show_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(context.get_help())
        raise typer.Exit


def _flag(text: str, callback: Callable[..., None], *names: str, is_eager: bool = False) -> Any:
    """A global option, which its callback takes."""
    return typer.Option(*names, help=text, callback=callback, is_eager=is_eager, expose_value=False)


@app.callback()
def choose(
    quiet: Annotated[
        bool, _flag("Show results and errors only, no progress.", _keep, "--quiet", "-q")
    ] = False,
    debug: Annotated[bool, _flag("Show the traceback of an error.", _keep, "--debug")] = False,
    version: Annotated[
        bool, _flag("Show the version and exit.", _print_version, "--version", is_eager=True)
    ] = False,
    install_completion: Annotated[
        bool,
        _flag(
            "Teach your shell to complete: writes a script into your home and, for bash and "
            "zsh, a line into its start file; says which.",
            completion.install_completion,
            "--install-completion",
        ),
    ] = False,
    show_completion: Annotated[
        bool, _flag("Print that script instead.", completion.show_completion, "--show-completion")
    ] = False,
    help_: Annotated[
        bool, _flag("Show this message and exit.", _show_help, "--help", "-h", is_eager=True)
    ] = False,
) -> None:
    """Take the global options, which their callbacks keep."""
    del quiet, debug, version, install_completion, show_completion, help_
