"""`recommend`: backend, runtime, precision and batch size for a model, or cells to measure."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import axis_values, list_option
from orchestrator.commands.predict.train_command import SourceChoice
from orchestrator.commands.program.completion import complete_family
from orchestrator.commands.program.groups import with_options
from orchestrator.commands.recommend.next_command import NextOptions, show_next, with_next
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import AXES, Axis, AxisName

if TYPE_CHECKING:
    from analysis.recommend.service_levels import ServiceLevel


class ObjectiveChoice(StrEnum):
    """Numbers to rank by."""

    latency = "latency"
    throughput = "throughput"
    memory = "memory"
    energy = "energy"
    cost = "cost"


class RecommendationFormat(StrEnum):
    """Formats of recommendations."""

    table = "table"
    markdown = "markdown"
    csv = "csv"
    json = "json"
    html = "html"
    matrix = "matrix"


_NO_CHOICE = ("scenario", "target_qps", "slo_ms", "workers", "training_precision")
"""Axes that nothing is recommended for."""
_HELP: Mapping[AxisName, str] = {
    "backend": "Only these hardware paths.  [default: those with results]",
    "runtime": "Only these runtimes.  [default: all of a backend]",
    "precision": "Only these number formats.  [default: all]",
    "batch_size": "Only these batch sizes.  [default: 1 to 256]",
    "mode": "inference, generation or training.  [default: inference]",
}
_AXES: tuple[Axis, ...] = tuple(axis for axis in AXES if axis.name not in _NO_CHOICE)
_Family = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="All models of a family.", autocompletion=complete_family),
]
_All = Annotated[bool, typer.Option("--all", help="All models of the catalogue.")]
_Objective = Annotated[
    ObjectiveChoice | None,
    typer.Option(
        metavar=options.one_of(ObjectiveChoice),
        help="What to rank by.  [default: latency; throughput with --slo or --memory; cost with"
        " --prices]",
    ),
]
_Slo = Annotated[
    str | None,
    typer.Option(
        metavar="LIMIT", help="What a percentile of latencies must keep, e.g. 'p95<50ms'."
    ),
]
_Confidence = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="The least chance to keep it, e.g. 95%.  [default: 90%]"),
]
_Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Most memory to use, e.g. 2GiB; without --objective, the largest batch.",
    ),
]
_Prices = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Prices per hour of hardware or backends, for cost."),
]
_Hardware = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Only these devices, by the names of `query hardware`."),
]
_Source = Annotated[
    SourceChoice,
    typer.Option(
        metavar=options.one_of(SourceChoice),
        help="all: results that others measured too, marked.",
    ),
]
_Format = Annotated[
    RecommendationFormat | None,
    typer.Option(
        "--format",
        metavar=options.one_of(RecommendationFormat),
        help="matrix: a file for `run`.  [default: what FILE's name says, else table]",
    ),
]


def _options(*names: str) -> dict[str, Any]:
    return {
        name: hint
        for axis in _AXES
        if axis.name in names
        for name, hint in list_option(axis, _HELP.get(axis.name)).items()
    }


@with_next
@with_options(0, _options("model"))
@with_options(3, _options(*(axis.name for axis in _AXES if axis.name != "model")))
def recommend(
    context: typer.Context,
    proposed: NextOptions,
    family: _Family = None,
    all_: _All = False,
    objective: _Objective = None,
    slo: _Slo = None,
    slo_confidence: _Confidence = None,
    memory: _Memory = None,
    prices: _Prices = None,
    hardware: _Hardware = None,
    source: _Source = SourceChoice.ours,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    format_: _Format = None,
    output: options.Output = None,
    force: options.Force = False,
    wide: options.Wide = False,
    json: options.Json = False,
    **axes: list[str] | None,
) -> None:
    """Rank backend, runtime, precision and batch of a model. All others come with a reason.

    Or, with --next, choose the cells of a matrix to measure next.
    """
    proposed.refuse_others(context)
    values = axis_values({axis.name: axes[axis.name] for axis in _AXES})
    from orchestrator.commands.recommend.answer import (
        RecommendationRequest,
        recommend_cells,
    )
    from orchestrator.commands.recommend.candidate_cells import CandidateRequest
    from orchestrator.commands.recommend.output import RecommendationOutput
    from orchestrator.system.text import split_list

    form = options.answer_format(format_, as_json=json)
    shown = RecommendationOutput(form, output, force=force, wide=wide)
    path = options.database_in(results, database)
    if proposed.next_ is not None:
        shown.require(path)
        show_next(proposed, proposed.next_, shown, results, database)
        return
    request = RecommendationRequest(
        path,
        CandidateRequest(values, tuple(family or ()), all_),
        objective.value if objective else None,
        _service_level(slo, slo_confidence),
        _share(slo_confidence),
        options.parse_bytes(memory, "--memory"),
        prices,
        tuple(split_list(hardware or ())),
        source is SourceChoice.all,
    )
    shown.require(request.database)
    shown.show(recommend_cells(request))


def _service_level(words: str | None, confidence: str | None) -> "ServiceLevel | None":
    from analysis.recommend.service_levels import parse_service_level
    from runner.contract.errors import UsageError

    if words is None and confidence is not None:
        raise UsageError(
            "--slo-confidence: there is no --slo to keep with it", hint="add --slo 'p95<50ms'"
        )
    return None if words is None else parse_service_level(words)


def _share(words: str | None) -> float:
    from analysis.recommend.choices import USUAL_CONFIDENCE
    from orchestrator.system.text import parse_share

    try:
        return USUAL_CONFIDENCE if words is None else parse_share(words)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--slo-confidence") from error
