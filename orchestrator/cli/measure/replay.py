"""`replay`: measures one result again."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.app import chosen
from orchestrator.cli.completion import complete_result
from orchestrator.cli.options import LauncherChoice, command_line
from orchestrator.system.files import RESULTS_FOLDER


def replay(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT_ID",
            help="<run_id>/<cell_id>; last/<cell_id> is of the newest run.",
            autocompletion=complete_result,
        ),
    ],
    launcher: Annotated[
        LauncherChoice,
        typer.Option(
            "--launcher",
            metavar=options.one_of(LauncherChoice),
            help="auto: the one that executed it.",
        ),
    ] = LauncherChoice.auto,
    as_recorded: Annotated[
        bool,
        typer.Option(
            "--as-recorded",
            help="Take the weights, limits and durations that a stranger's record chose.",
        ),
    ] = False,
    image: options.ChosenImage = None,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> int:
    """Measure one result again and show both side by side.

    What a stranger's record chose is shown first, and taken as far as the options say so.
    """
    from orchestrator.app.measure.given_options import chosen_images
    from orchestrator.app.measure.replay import ReplayRequest, replay_result
    from orchestrator.launchers.registry import known_launcher
    from orchestrator.render.measure.progress import show_progress
    from orchestrator.render.measure.replay import print_replay
    from orchestrator.render.terminal.streams import after_work

    request = ReplayRequest(
        result,
        results,
        database,
        known_launcher(launcher),
        as_recorded=as_recorded,
        images=chosen_images(image or ()),
        command=command_line(),
    )
    with show_progress(quiet=chosen.quiet) as observer:
        replayed = replay_result(request, observer)
    if replayed.replay is not None:
        with after_work():
            print_replay(replayed.replay, as_json=json)
    replayed.outcome.require_complete()
    return replayed.outcome.exit_code
