"""`models`: the catalogue."""

from typing import Annotated

import typer

from orchestrator.cli import options

app = typer.Typer(help="List and show models.", no_args_is_help=True, rich_markup_mode=None)


@app.command(name="list")
def list_models(
    family: Annotated[str | None, typer.Option(help="Only models of this family.")] = None,
    of_set: Annotated[
        str | None, typer.Option("--set", help="Only models of this set, in its order.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the catalogue."""
    from typing import get_args

    from orchestrator.render.models import print_models
    from orchestrator.system.problems import not_one_of
    from runner.contract.errors import UsageError
    from runner.contract.models import Family, catalogue, model_sets

    if family is not None and family not in get_args(Family):
        raise UsageError(f"--family: {not_one_of(family, get_args(Family))}")
    if of_set is not None and of_set not in model_sets():
        raise UsageError(f"--set: {not_one_of(of_set, list(model_sets()))}")
    names = catalogue() if of_set is None else model_sets()[of_set]
    models = [catalogue()[name] for name in names]
    sets = {
        name: ", ".join(key for key, members in model_sets().items() if name in members)
        for name in catalogue()
    }
    shown = [model for model in models if family in (None, model.family)]
    print_models(shown, sets, as_json=json)


@app.command(name="show")
def show(
    name: Annotated[str, typer.Argument(metavar="MODEL")],
    mode: Annotated[str, typer.Option(help="What would be measured.")] = "inference",
    batch_size: Annotated[
        int | None, typer.Option(metavar="N", help="Samples in one query.  [default: 1]")
    ] = None,
    sequence_length: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens in one sample.  [default: 128]")
    ] = None,
    image_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Height and width, pixels.  [default: the model's own]"),
    ] = None,
    audio_seconds: Annotated[
        int | None, typer.Option(metavar="N", help="Seconds.  [default: the model's own]")
    ] = None,
    new_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens to generate.  [default: 32]")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show one model: its inputs and its needs at these sizes, and what can execute it."""
    from orchestrator.app.setup.models import model_sheet
    from orchestrator.render.models import print_model

    sheet = model_sheet(
        name,
        mode,
        batch_size=batch_size,
        sequence_length=sequence_length,
        image_size=image_size,
        audio_seconds=audio_seconds,
        new_tokens=new_tokens,
    )
    print_model(sheet, as_json=json)
