"""`bench`: measures without a file."""

from collections.abc import Mapping
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.measure.measure import measure
from orchestrator.cli.options import LauncherChoice, Request, command_line
from orchestrator.system.files import RESULTS_FOLDER

Model = Annotated[list[str] | None, typer.Option(help="Models, sets or files of custom models.")]
Family = Annotated[list[str] | None, typer.Option(help="All models of a family.")]
All = Annotated[bool, typer.Option("--all", help="All models of the catalogue.")]
Backend = Annotated[list[str] | None, typer.Option(help="Hardware paths.  [default: cpu]")]
Runtime = Annotated[list[str] | None, typer.Option(help="Runtimes.  [default: the backend's own]")]
Precision = Annotated[list[str] | None, typer.Option(help="Number formats.  [default: fp32]")]
BatchSizes = Annotated[
    list[str] | None, typer.Option(help="Samples in a query, e.g. 1,2,4.  [default: 1]")
]
SequenceLengths = Annotated[
    list[str] | None, typer.Option(help="Tokens in a sample, e.g. 128,256.  [default: 128]")
]
ImageSizes = Annotated[
    list[str] | None,
    typer.Option(help="Pixels of an image's side, e.g. 224,448.  [default: the model's own]"),
]
AudioSeconds = Annotated[
    list[str] | None,
    typer.Option(help="Seconds of sound in a sample, e.g. 5,10.  [default: the model's own]"),
]
NewTokens = Annotated[
    list[str] | None,
    typer.Option(help="Tokens to generate, e.g. 32,128; --mode generation alone.  [default: 32]"),
]
Mode = Annotated[list[str] | None, typer.Option(help="What is measured.  [default: inference]")]
Scenario = Annotated[
    list[str] | None,
    typer.Option(help="single_stream, offline or server.  [default: single_stream]"),
]
TargetQps = Annotated[
    list[str] | None,
    typer.Option(
        metavar="QPS", help="Queries per second of scenario server.  [default: find_peak]"
    ),
]
SloMs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MS", help="What 99 % of queries must meet at the peak sought.  [default: 100]"
    ),
]
Profile = Annotated[str, typer.Option(help="quick, standard or audit.")]
Iterations = Annotated[int | None, typer.Option(min=1, help="Fewest timed iterations of a cell.")]
CellTimeout = Annotated[
    str | None, typer.Option(metavar="TIME", help="Longest a cell may take, e.g. 5m.")
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Most memory of a job, e.g. 8GiB.")
]


_FIELDS: Mapping[str, str] = {
    "model": "models",
    "family": "families",
    "all_": "every_model",
    "backend": "backends",
    "runtime": "runtimes",
    "precision": "precisions",
    "mode": "modes",
    "scenario": "scenarios",
}
"""What `BenchOptions` calls an option, where that is another name."""


def bench(
    context: typer.Context,
    model: Model = None,
    family: Family = None,
    all_: All = False,
    backend: Backend = None,
    runtime: Runtime = None,
    precision: Precision = None,
    batch_sizes: BatchSizes = None,
    sequence_lengths: SequenceLengths = None,
    image_sizes: ImageSizes = None,
    audio_seconds: AudioSeconds = None,
    new_tokens: NewTokens = None,
    mode: Mode = None,
    scenario: Scenario = None,
    target_qps: TargetQps = None,
    slo_ms: SloMs = None,
    profile: Profile = "quick",
    iterations: Iterations = None,
    cell_timeout: CellTimeout = None,
    memory: Memory = None,
    select: options.Select = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    seed: options.Seed = 0,
    verify_only: options.VerifyOnly = False,
    no_verify: options.NoVerify = False,
    trace: options.Trace = False,
    dry_run: options.DryRun = False,
    fail_fast: options.FailFast = False,
    budget: options.Budget = None,
    scratch: options.ScratchOfTests = False,
    json: options.Json = False,
) -> int:
    """Measure without a file: the options are the matrix. Lists take commas or repeat."""
    from orchestrator.matrix.from_options import BenchOptions, bench_matrix
    from orchestrator.running.create import Origin

    request = Request.of(context)
    fields = {_FIELDS.get(name, name): value for name, value in context.params.items()}
    asked = BenchOptions(
        **{
            name: value
            for name, value in fields.items()
            if name in BenchOptions.__dataclass_fields__ and value is not None
        }
    )
    return measure(bench_matrix(asked), Origin(command=command_line()), request)
