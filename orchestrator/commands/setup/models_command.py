"""`models`: the catalogue."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.axes import SIZED_AXES, with_sizes
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import (
    complete_family,
    complete_mode,
    complete_model,
    complete_set,
)
from orchestrator.commands.program.program import ListingGroup, Program
from orchestrator.system.options import Json, Wide
from runner.contract.errors import UsageError, refuse_unknown
from runner.contract.synonyms import axis_called, meaning

group = Program(help="List and show models.", cls=ListingGroup)


@group.command(name="list")
@dataclass(frozen=True, kw_only=True)
class ListModels(Command):
    """List the catalogue."""

    family: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only models of this family.", autocompletion=complete_family
        ),
    ] = None
    modality: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only models that take text, image, audio or video."),
    ] = None
    set_: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="Only models of this set, in its order.",
            autocompletion=complete_set,
        ),
    ] = None
    wide: Wide = False
    json: Json = False

    def execute(self) -> None:
        """Print the models."""
        from orchestrator.commands.setup.models_words import print_models
        from orchestrator.matrix.heads import require_family, require_modality
        from runner.contract.models import catalogue, model_sets

        wanted = None if self.family is None else require_family(self.family)
        content = None if self.modality is None else require_modality(self.modality)
        if self.set_ is not None and self.set_ not in model_sets():
            raise UsageError(f"--set: {refuse_unknown(self.set_, list(model_sets()))}")
        names = catalogue() if self.set_ is None else model_sets()[self.set_]
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
        print_models(shown, sets, wide=self.wide, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
@with_sizes
class _Sizes:
    """The sizes that a model is shown at."""


@group.command(name="show")
@dataclass(frozen=True, kw_only=True)
class ShowModel(_Sizes, Command):
    """Show a model: its inputs and its needs at these sizes, and what can execute it.

    MODEL is a name, a hub id, ./folder with a config.json, or a file of custom models.
    """

    name: Annotated[str, typer.Argument(metavar="MODEL", autocompletion=complete_model)]
    mode: Annotated[
        str,
        typer.Option(metavar="NAME", help="What would be measured.", autocompletion=complete_mode),
    ] = "inference"
    json: Json = False

    def execute(self) -> None:
        """Print the model."""
        from orchestrator.commands.setup.models import model_sheets
        from orchestrator.commands.setup.models_words import print_sheets

        sizes = {name: getattr(self, name) for name in SIZED_AXES}
        mode = meaning(axis_called("mode"), self.mode)
        print_sheets(model_sheets(self.name, mode, **sizes), as_json=self.json)
