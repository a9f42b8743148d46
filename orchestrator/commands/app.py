"""The typer application and its global options. Nothing heavy is imported before a command runs."""

from typing import Annotated

import typer

import runner
from orchestrator.commands.commands import ListedCommands
from orchestrator.commands.program import completion
from orchestrator.commands.program.command import execute
from orchestrator.commands.program.program import READING, Program, chosen

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


@app.callback()
def choose(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Show results and errors only, no progress.",
            callback=_keep,
            expose_value=False,
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of an error.", callback=_keep, expose_value=False
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_print_version,
            is_eager=True,
            expose_value=False,
        ),
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option(
            "--install-completion",
            help="Teach your shell to complete: writes a script into your home and, for bash and "
            "zsh, a line into its start file; says which.",
            callback=completion.install_completion,
            expose_value=False,
        ),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option(
            "--show-completion",
            help="Print that script instead.",
            callback=completion.show_completion,
            expose_value=False,
        ),
    ] = False,
    help_: Annotated[
        bool,
        typer.Option(
            "--help",
            "-h",
            help="Show this message and exit.",
            callback=_show_help,
            is_eager=True,
            expose_value=False,
        ),
    ] = False,
) -> None:
    """Take the global options, which their callbacks keep."""
    del quiet, debug, version, install_completion, show_completion, help_
