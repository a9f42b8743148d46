"""`browser`: a page that measures in the browser of one's own device."""

import sys
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import axis_values, list_option
from orchestrator.commands.options.common import LauncherChoice, command_line, note
from orchestrator.commands.program.groups import with_options
from orchestrator.commands.program.program import CommandGroup, Program, chosen
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.text import plural
from runner.contract.axes import AXES, AxisName

if TYPE_CHECKING:
    from orchestrator.server.web_server import Serving

_AXES: tuple[AxisName, ...] = ("model", "precision", "batch_size", "sequence_length")
_HELP = {"model": "Models whose graphs the page offers.  [default: the graphs at hand]"}
_OPTIONS = {
    name: hint
    for axis in AXES
    if axis.name in _AXES
    for name, hint in list_option(axis, _HELP.get(axis.name)).items()
}

group = Program(help="Serve a page that measures on one's own device.", cls=CommandGroup)


@group.callback()
def browser() -> None:
    """Serve a page that measures on one's own device."""


@group.command(name="serve")
@with_options(0, _OPTIONS)
def serve_page(
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="This machine's address at which other devices reach it; the page then has TLS.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 0,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    weights_seed: options.WeightsSeed = 0,
    **axes: list[str] | None,
) -> None:
    """Serve a page that measures prepared graphs in the browser that opens it.

    Its results are downloaded there, and `orchestrator import` takes them.
    """
    values = axis_values({name: axes[name] for name in _AXES})
    from orchestrator.commands.measure.page_graphs import PAGE_BACKENDS, page_graphs
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.matrix.from_options import BenchOptions
    from orchestrator.server.content import page_content
    from orchestrator.server.web_server import serving

    run_options = options.run_options(launcher=launcher, database=None, weights_seed=weights_seed)
    request = PlanRequest(
        BenchOptions({**values, "backend": PAGE_BACKENDS}),
        results=results,
        options=run_options.model_copy(update={"purpose": "prepare"}),
        command=command_line(),
    )
    with show_progress(quiet=chosen.quiet) as observer:
        listed = page_graphs(request, observer)
    for text in listed.notes:
        note(text)
    with (
        serving(page_content(listed.graphs), host, port) as server,
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
