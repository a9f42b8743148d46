"""`dev`: what those who work on AccelMatrix itself need."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.app import chosen

app = typer.Typer(
    help="For work on AccelMatrix itself.", no_args_is_help=True, rich_markup_mode=None
)


@app.command(name="synthesise")
def synthesise(
    rows: Annotated[int, typer.Option("--rows", min=1, metavar="N", help="How many results.")],
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="A new or empty folder for them.")
    ],
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**63 - 1, help="The same seed writes the same.")
    ] = 0,
    json: options.Json = False,
) -> None:
    """Write synthetic results as record files, to try how the store copes with many.

    No device made them, and every row says so: `orchestrator merge DIR --scratch` takes them into
    a database of their own, any other refuses them.
    """
    from orchestrator.render.dev import print_synthesised, tell_written
    from performance.synthetic import synthesise as write

    files = []
    for path, written in write(output, rows, seed):
        files.append(path)
        if not chosen.quiet:
            tell_written(written, rows)
    print_synthesised(files, output, rows, as_json=json)
