"""`models`: the catalogue."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from analysis.results.synonyms import axis_called, meaning
from analysis.results.table import Field, wrapping
from orchestrator.commands.options.axes import SIZED_AXES, with_sizes
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import (
    complete_family,
    complete_mode,
    complete_model,
    complete_set,
)
from orchestrator.commands.program.program import ListingGroup, Program
from orchestrator.commands.setup.models import ModelSheet, model_sheets
from orchestrator.matrix.model_config import require_family, require_modality
from orchestrator.screen.lines import print_data, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.options import Json, Wide
from orchestrator.system.text import format_size
from runner.contract.axes import SIZE_AXES
from runner.contract.errors import UsageError, refuse_unknown
from runner.contract.models import TensorSpec, catalogue, model_sets

_TIMES = " × "
_COLUMNS = (
    Field("model", essential=True),
    Field("family", essential=True),
    Field("parameters", essential=True, right=True),
    Field("task"),
    Field("sets", wraps=True),
    Field("published as", wraps=True),
)


def _format_count(parameters: int | None) -> str | None:
    """Millions of parameters, or thousands of those of a tiny model."""
    if parameters is None:
        return None
    return f"{parameters / 1e6:,.1f} M" if parameters >= 1e6 else f"{parameters / 1e3:.1f} k"


def _print_sheets(sheets: Sequence[ModelSheet], *, as_json: bool) -> None:
    """Print the facts about models, at the sizes asked for; as JSON a list where they are many."""
    if as_json:
        data = [_data(sheet) for sheet in sheets]
        print_data(json.dumps(data[0] if len(data) == 1 else data, indent=2))
        return
    for number, sheet in enumerate(sheets):
        if number:
            print_line()
        _print_sheet(sheet)


def _print_sheet(sheet: ModelSheet) -> None:
    facts = sheet.model.model_dump(mode="json", exclude={"config", "inputs"})
    facts["modes"] = ", ".join(sheet.modes)
    if sheet.model.parameters is not None:
        facts["parameters"] = f"{sheet.model.parameters:,}"
    shown = {key: value for key, value in facts.items() if value not in (None, {}, False)}
    for heading, values in (("fact", shown), ("config", sheet.model.config)):
        lines = [(key, _format(value)) for key, value in values.items()]
        print_lines((heading, *wrapping("value")), lines)
        print_line()
    at = ", ".join(f"{name} {size}" for name, size in _sizes(sheet).items())
    inputs = [(t.spec.name, t.spec.kind, _names(t.spec), _product(t.shape)) for t in sheet.tensors]
    print_lines(("input", "kind", *wrapping("shape", f"at {at}")), inputs)
    print_line()
    print_lines(("one forward pass", "at these sizes"), _needs(sheet))
    print_line()
    backends = [
        (t.backend, t.runtime, ", ".join(t.precisions) or None, "; ".join(t.reasons))
        for t in sheet.backends
    ]
    words = wrapping(f"{sheet.cell.mode} in", "what else, and why not")
    print_lines(("backend", "runtime", *words), backends)
    for note in sheet.notes:
        print_line(f"note: {note}")


def _data(sheet: ModelSheet) -> dict[str, object]:
    return {
        **sheet.model.model_dump(mode="json"),
        "sizes": _sizes(sheet),
        "shapes": {tensor.spec.name: tensor.shape for tensor in sheet.tensors},
        "work": sheet.work and sheet.work.model_dump(),
        "iteration": sheet.iteration and asdict(sheet.iteration),
        "memory_bytes": {name: round(size) for name, size in sheet.memory_bytes.items()},
        "modes": sheet.modes,
        "backends": [asdict(backend) for backend in sheet.backends],
        "notes": sheet.notes,
    }


def _needs(sheet: ModelSheet) -> list[tuple[str, str]]:
    rows = []
    if sheet.work is not None:
        rows = [
            ("multiply-accumulates", f"{sheet.work.macs:,}"),
            ("activations in fp32", format_size(sheet.work.activation_bytes)),
            ("parameters in fp32", format_size(sheet.work.parameter_bytes)),
        ]
    if sheet.iteration is not None:
        whole, mode = sheet.iteration.whole, sheet.cell.mode
        rows += [
            (f"FLOP of one iteration, {mode}", f"{whole.flops:,}"),
            ("bytes that it moves in fp32, at least", format_size(whole.traffic_bytes)),
            ("FLOP per byte", f"{whole.flops / whole.traffic_bytes:.3g}"),
        ]
    memory = sheet.memory_bytes.items()
    return [*rows, *((f"memory in {name}, at least", format_size(round(n))) for name, n in memory)]


def _sizes(sheet: ModelSheet) -> dict[str, int]:
    """The cell's sizes, and those that the model fixes."""
    named = {axis: getattr(sheet.cell, axis) for axis in SIZE_AXES}
    sizes: dict[str, int] = {axis: size for axis, size in named.items() if type(size) is int}
    sizes.update(sheet.model.model_dump(include={"fixed"})["fixed"])
    return sizes


def _names(spec: TensorSpec) -> str:
    return _TIMES.join(
        f"({_product(dimension)})" if isinstance(dimension, tuple) else str(dimension)
        for dimension in spec.shape
    )


def _product(factors: Sequence[object]) -> str:
    return _TIMES.join(map(str, factors))


def _format(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


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
        wanted = None if self.family is None else require_family(self.family)
        content = None if self.modality is None else require_modality(self.modality)
        if self.set_ is not None and self.set_ not in model_sets():
            raise UsageError(f"--set: {refuse_unknown(self.set_, list(model_sets()))}")
        names = catalogue() if self.set_ is None else model_sets()[self.set_]
        shown = [
            (model, ", ".join(key for key, members in model_sets().items() if name in members))
            for name, model in ((name, catalogue()[name]) for name in names)
            if wanted in (None, model.family) and (content is None or content in model.contents)
        ]
        if self.json:
            data = [model.model_dump(mode="json") | {"sets": sets} for model, sets in shown]
            print_data(json.dumps(data, indent=2))
            return
        rows = [
            (
                *(model.name, model.family, _format_count(model.parameters), model.task),
                *(sets, model.hub_id),
            )
            for model, sets in shown
        ]
        print_lines(_COLUMNS, rows, wide=self.wide)


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
        sizes = {name: getattr(self, name) for name in SIZED_AXES}
        mode = meaning(axis_called("mode"), self.mode)
        _print_sheets(model_sheets(self.name, mode, **sizes), as_json=self.json)
