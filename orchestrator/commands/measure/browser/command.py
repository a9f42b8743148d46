"""`browser`: a page that measures in the browser of one's own device."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import command_line, note
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import CommandGroup, Program, chosen
from orchestrator.running.options import LauncherOption, RunOptions, WeightsSeed
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.options import Results, number_parser
from orchestrator.system.text import plural
from runner.contract.axes import AxisName

if TYPE_CHECKING:
    from orchestrator.server.web_server import Serving

_AXES: tuple[AxisName, ...] = ("model", "precision", "batch_size", "sequence_length")
_HELP: Mapping[AxisName, str] = {
    "model": "Models whose graphs the page offers.  [default: the graphs at hand]"
}
_LARGEST_PORT = 65535

group = Program(help="Serve a page that measures on one's own device.", cls=CommandGroup)


@group.callback()
def browser() -> None:
    """Serve a page that measures on one's own device."""


@group.command(name="serve")
@dataclass(frozen=True, kw_only=True)
@with_axes(_AXES, _HELP)
class ServePage(AxisOptions, Command):
    """Serve a page that measures prepared graphs in the browser that opens it.

    Its results are downloaded there, and `orchestrator import` takes them.
    """

    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="This machine's address at which other devices reach it; the page then has TLS.",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=_LARGEST_PORT,
            help="The port; 0 takes a free one.",
            parser=number_parser(0, _LARGEST_PORT),
        ),
    ] = 0
    launcher: LauncherOption = "auto"
    results: Results = RESULTS_FOLDER
    weights_seed: WeightsSeed = 0

    def execute(self) -> None:
        """Serve the page until Ctrl-C."""
        from orchestrator.commands.measure.browser.page_graphs import page_graphs
        from orchestrator.commands.measure.progress import show_progress
        from orchestrator.commands.measure.request import PlanRequest
        from orchestrator.commands.options.bench import BenchOptions
        from orchestrator.server.content import page_content
        from orchestrator.server.page_graph import PAGE_BACKENDS
        from orchestrator.server.web_server import serving

        request = PlanRequest(
            BenchOptions.of_axes({**self.axes, "backend": PAGE_BACKENDS}),
            results=self.results,
            options=RunOptions(launcher=self.launcher, weights_seed=self.weights_seed),
            prepares=True,
            command=command_line(),
        )
        with show_progress(quiet=chosen.quiet) as observer:
            listed = page_graphs(request, observer)
        for text in listed.notes:
            note(text)
        with (
            serving(page_content(listed.graphs), self.host, self.port) as server,
            suppress(KeyboardInterrupt),
        ):
            _tell(server, len(listed.graphs))
            Event().wait()


def _tell(server: "Serving", graphs: int) -> None:
    """Tell the address, and how the user ends it."""
    from orchestrator.screen.lines import print_data, print_line

    print_line(f"{graphs} {plural(graphs, 'graph')} to measure; open this address in the browser:")
    print_data(server.url)
    if server.fingerprint:
        print_line(
            "The browser warns of a certificate that nobody signed. It is ours if its SHA-256 "
            "fingerprint is:"
        )
        print_data(server.fingerprint)
    print_line("Ctrl-C ends it.")
    sys.stdout.flush()
