"""`replay`: measures one result again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice, command_line
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_result
from orchestrator.commands.program.program import chosen
from orchestrator.fleet.choice import FleetHosts
from orchestrator.running.options import Images, LauncherChoice
from orchestrator.system.options import Json, choice

if TYPE_CHECKING:
    from orchestrator.commands.measure.replay import Replay
    from orchestrator.running.outcome import RunOutcome
    from orchestrator.running.replay import ReplayRequest


@dataclass(frozen=True, kw_only=True)
class ReplayCommand(FleetHosts, DatabaseChoice, Command):
    """Measure one result again and show both side by side.

    What a stranger's record chose is shown first, and taken as far as the options say so.
    """

    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT_ID",
            help="<run_id>/<cell_id>; last/<cell_id> is of the newest run.",
            autocompletion=complete_result,
        ),
    ]
    launcher: Annotated[
        LauncherChoice, choice(LauncherChoice, "--launcher", help="auto: the one that executed it.")
    ] = "auto"
    as_recorded: Annotated[
        bool,
        typer.Option(
            "--as-recorded",
            help="Take the weights, limits and durations that a stranger's record chose.",
        ),
    ] = False
    image: Images = None
    json: Json = False

    def execute(self) -> int:
        from orchestrator.commands.measure.replay import print_replay
        from orchestrator.running.replay import ReplayRequest
        from orchestrator.screen.streams import after_work

        request = ReplayRequest(
            self.result,
            self.results,
            self.database,
            None if self.launcher == "auto" else self.launcher,
            as_recorded=self.as_recorded,
            image=self.image,
            command=command_line(),
        )
        replay, outcome = self._replayed(request)
        if replay is not None:
            with after_work():
                print_replay(replay, as_json=self.json)
        outcome.require_complete()
        return outcome.exit_code

    def _replayed(self, request: "ReplayRequest") -> "tuple[Replay | None, RunOutcome]":
        if not self.on_fleet:
            from orchestrator.commands.measure.replay import replay_result
            from orchestrator.commands.program.progress import show_progress

            with show_progress(quiet=chosen.quiet) as observer:
                return replay_result(request, observer)
        from orchestrator.commands.measure.fleet.progress import show_fleet_progress
        from orchestrator.commands.measure.fleet.runs import replay_on_fleet

        with show_fleet_progress(quiet=chosen.quiet) as observer_of_hosts:
            return replay_on_fleet(request, self, observer_of_hosts)
