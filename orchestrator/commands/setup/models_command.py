"""`models`: the catalogue."""

from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import size_options
from orchestrator.commands.program.completion import (
    complete_family,
    complete_mode,
    complete_model,
    complete_set,
)
from orchestrator.commands.program.groups import with_options
from orchestrator.commands.program.program import ListingGroup, Program
from runner.contract.synonyms import axis_called, meaning

group = Program(help="List and show models.", cls=ListingGroup)


@group.command(name="list")
def list_models(
    family: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only models of this family.",
            autocompletion=complete_family,
        ),
    ] = None,
    modality: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only models that take text, image, audio or video."),
    ] = None,
    of_set: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="Only models of this set, in its order.",
            autocompletion=complete_set,
        ),
    ] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> None:
    """List the catalogue."""
    from orchestrator.commands.setup.models_words import print_models
    from orchestrator.matrix.heads import require_family, require_modality
    from orchestrator.system.problems import not_one_of
    from runner.contract.errors import UsageError
    from runner.contract.models import catalogue, model_sets

    wanted = None if family is None else require_family(family)
    content = None if modality is None else require_modality(modality)
    if of_set is not None and of_set not in model_sets():
        raise UsageError(f"--set: {not_one_of(of_set, list(model_sets()))}")
    names = catalogue() if of_set is None else model_sets()[of_set]
    models = [catalogue()[name] for name in names]
    sets = {
        name: ", ".join(key for key, members in model_sets().items() if name in members)
        for name in catalogue()
    }
    shown = [
        model
        for model in models
        if wanted in (None, model.family) and (content is None or content in model.contents)
    ]
    print_models(shown, sets, wide=wide, as_json=json)


@group.command(name="show")
@with_options(2, size_options())
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ],
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What would be measured.",
            autocompletion=complete_mode,
        ),
    ] = "inference",
    json: options.Json = False,
    **sizes: int | None,
) -> None:
    """Show a model: its inputs and its needs at these sizes, and what can execute it.

    MODEL is a name, a hub id, ./folder with a config.json, or a file of custom models.
    """
    meant = meaning(axis_called("mode"), mode)
    from orchestrator.commands.setup.models import model_sheets
    from orchestrator.commands.setup.models_words import print_sheets

    print_sheets(model_sheets(name, meant, **sizes), as_json=json)
