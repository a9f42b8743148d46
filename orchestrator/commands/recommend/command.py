"""`recommend`: backend, runtime, precision and batch size for a model, or cells to measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import (
    DatabaseChoice,
    EveryModel,
    FamilyOption,
    Profile,
    Select,
    Set,
    overrides_of,
)
from orchestrator.commands.predict.question import SourceChoice
from orchestrator.commands.program.command import Command
from orchestrator.screen.lines import print_content
from orchestrator.screen.sheet import (
    SHEET_SUFFIXES,
    print_sheet,
    require_output,
    sheet_format,
    show_sheet,
)
from orchestrator.system.files import is_stdout, output_file
from orchestrator.system.options import (
    Force,
    Json,
    Output,
    Wide,
    asked_format,
    bytes_parser,
    choice,
    number_parser,
    parser_of,
    split_words,
)
from orchestrator.system.text import parse_share
from runner.contract.axes import AXES, AxisName
from runner.contract.errors import UsageError

_MATRIX = "matrix"
_SUFFIXES = {**SHEET_SUFFIXES, ".yaml": _MATRIX, ".yml": _MATRIX}
_Objective = Literal["latency", "throughput", "memory", "energy", "cost"]
_Format = Literal["table", "markdown", "csv", "json", "html", "matrix"]
_Unit = Literal["cell", "second"]
_NO_CHOICE = ("scenario", "target_qps", "slo_ms", "workers", "training_precision")
_HELP: Mapping[AxisName, str] = {
    "backend": "Only these hardware paths.  [default: those with results]",
    "runtime": "Only these runtimes.  [default: all of a backend]",
    "precision": "Only these number formats.  [default: all]",
    "batch_size": "Only these batch sizes.  [default: 1 to 256]",
    "mode": "inference, generation or training.  [default: inference]",
}
_OTHER_AXES: tuple[AxisName, ...] = tuple(
    axis.name for axis in AXES if axis.name not in (*_NO_CHOICE, "model")
)
_OF_NEXT = ("limit", "per", "select", "set_", "profile")
_OUTPUT = ("results", "database", "format_", "output", "force", "wide", "json")


@dataclass(frozen=True, kw_only=True)
@with_axes(["model"])
class _Models(AxisOptions):
    family: FamilyOption = None
    all_: EveryModel = False


@dataclass(frozen=True, kw_only=True)
@with_axes(_OTHER_AXES, _HELP)
class _Candidates(AxisOptions):
    """Values that narrow the candidates."""


@dataclass(frozen=True, kw_only=True)
class _Requirements:
    objective: Annotated[
        _Objective | None,
        choice(
            _Objective,
            "--objective",
            help="What to rank by.  [default: latency; throughput with --slo or --memory; cost with"
            " --prices]",
        ),
    ] = None
    slo: Annotated[
        str | None,
        typer.Option(
            metavar="LIMIT", help="What a percentile of latencies must keep, e.g. 'p95<50ms'."
        ),
    ] = None
    slo_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The least chance to keep it, e.g. 95%.  [default: 90%]",
            parser=parser_of(parse_share),
        ),
    ] = None
    memory_bytes: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Most memory to use, e.g. 2GiB; without --objective, the largest batch.",
            parser=bytes_parser,
        ),
    ] = None
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prices per hour of hardware or backends, for cost."),
    ] = None
    hardware: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only these devices, by the names of `query hardware_info`.",
            callback=split_words,
        ),
    ] = None
    source: Annotated[
        SourceChoice,
        choice(SourceChoice, "--source", help="all: results that others measured too, marked."),
    ] = "ours"


@dataclass(frozen=True, kw_only=True)
class _OutputAndNext:
    format_: Annotated[
        _Format | None,
        choice(
            _Format,
            "--format",
            help="matrix: a file for `run`.  [default: what FILE's name says, else table]",
        ),
    ] = None
    output: Output = None
    force: Force = False
    wide: Wide = False
    json: Json = False
    next_: Annotated[
        Path | None,
        typer.Option(
            "--next",
            metavar="MATRIX",
            help="Choose cells of this file whose measurement helps predictions most.",
        ),
    ] = None
    limit: Annotated[
        int,
        typer.Option(metavar="N", help="--next: propose so many cells.", parser=number_parser()),
    ] = 6
    per: Annotated[
        _Unit,
        choice(
            _Unit,
            "--per",
            help="--next: prefer what narrows most by cell, or by second of measuring.",
        ),
    ] = "cell"
    select: Select = None
    set_: Set = None
    profile: Profile = None


@dataclass(frozen=True, kw_only=True)
class RecommendCommand(
    _Models, _Candidates, _Requirements, DatabaseChoice, _OutputAndNext, Command
):
    """Rank backend, runtime, precision and batch of a model. All others come with a reason.

    Or, with --next, choose the cells of a matrix to measure next.
    """

    def execute(self) -> None:
        self.refuse_without("--next", _OF_NEXT)
        if self.next_ is not None:
            self.refuse_all_but("--next", (*_OF_NEXT, *_OUTPUT))
        form = asked_format(self.format_, as_json=self.json)
        database, output = self.database_file, self.output
        require_output(form, output, force=self.force, database=database, suffixes=_SUFFIXES)
        form = sheet_format(form, output, _SUFFIXES)
        if self.next_ is None:
            self._recommend(form)
        else:
            self._propose(self.next_, form)

    def _recommend(self, form: str) -> None:
        from analysis.recommend.choices import USUAL_CONFIDENCE
        from analysis.recommend.service_levels import parse_service_level
        from orchestrator.commands.recommend.answer import (
            CandidateRequest,
            RecommendationRequest,
            recommend_cells,
        )
        from orchestrator.commands.recommend.table import recommendation_sheet
        from orchestrator.commands.recommend.words import matrix_text

        if self.slo is None and self.slo_confidence is not None:
            raise UsageError(
                "--slo-confidence: there is no --slo to keep with it", hint="add --slo 'p95<50ms'"
            )
        answer = recommend_cells(
            RecommendationRequest(
                self.database_file,
                CandidateRequest(self.axes, tuple(self.family or ()), self.all_),
                self.objective,
                None if self.slo is None else parse_service_level(self.slo),
                self.slo_confidence or USUAL_CONFIDENCE,
                self.memory_bytes,
                self.prices,
                tuple(self.hardware or ()),
                self.source == "all",
            )
        )
        if form == _MATRIX:
            self._write(matrix_text(answer))
        else:
            show_sheet(recommendation_sheet(answer, form), form, self.output, wide=self.wide)

    def _propose(self, matrix: Path, form: str) -> None:
        """Show the cells of a matrix to measure next; beside a matrix in a file, the table too."""
        from orchestrator.commands.measure.plan import PlanningNotes
        from orchestrator.commands.measure.request import PlanRequest
        from orchestrator.commands.recommend.next_cells import propose_next
        from orchestrator.commands.recommend.next_words import next_sheet, proposed_matrix_text
        from orchestrator.running.options import RunOptions

        request = PlanRequest(
            matrix,
            overrides=overrides_of(self.set_, self.profile),
            select=tuple(self.select or ()),
            results=self.results,
            options=RunOptions(database=self.database),
            progress=PlanningNotes(),
        )
        written = None if self.output is None or is_stdout(self.output) else self.output
        folder = written and written.parent
        answer = propose_next(
            matrix, request, self.limit, per_second=self.per == "second", folder=folder
        )
        if form != _MATRIX:
            show_sheet(next_sheet(answer), form, self.output, wide=self.wide)
            return
        self._write(proposed_matrix_text(answer, self.output))
        if written:
            print_sheet(next_sheet(answer, written), wide=self.wide)

    def _write(self, text: str) -> None:
        if self.output is None or is_stdout(self.output):
            print_content(text.encode())
            return
        with output_file(self.output) as file:
            file.write(text.encode())
