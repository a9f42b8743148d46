"""`replay`: measures one result again."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.fleet.fleet_options import with_hosts
from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import LauncherChoice, command_line
from orchestrator.commands.program.completion import complete_result
from orchestrator.commands.program.program import chosen
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice
    from orchestrator.commands.measure.replay import ReplayRequest, ReplayResult


@with_hosts
def replay(
    fleet: "FleetChoice | None",
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
    from orchestrator.commands.measure.replay import ReplayRequest
    from orchestrator.commands.measure.replay_words import print_replay
    from orchestrator.commands.options.given import chosen_images
    from orchestrator.launchers.registry import known_launcher
    from orchestrator.screen.streams import after_work

    request = ReplayRequest(
        result,
        results,
        database,
        known_launcher(launcher),
        as_recorded=as_recorded,
        images=chosen_images(image or ()),
        command=command_line(),
    )
    replayed = _replayed(request, fleet)
    if replayed.replay is not None:
        with after_work():
            print_replay(replayed.replay, as_json=json)
    replayed.outcome.require_complete()
    return replayed.outcome.exit_code


def _replayed(request: "ReplayRequest", fleet: "FleetChoice | None") -> "ReplayResult":
    if fleet is None:
        from orchestrator.commands.measure.progress import show_progress
        from orchestrator.commands.measure.replay import replay_result

        with show_progress(quiet=chosen.quiet) as observer:
            return replay_result(request, observer)
    from orchestrator.commands.measure.fleet_runs import replay_on_fleet
    from orchestrator.commands.measure.host_progress import show_fleet_progress

    with show_fleet_progress(quiet=chosen.quiet) as observer_of_hosts:
        return replay_on_fleet(request, fleet, observer_of_hosts)
