"""`bench`: measures without a file."""

from collections.abc import Mapping

import typer

from orchestrator.cli import bench_options, options
from orchestrator.cli.measuring import Request, command_line, measure
from orchestrator.cli.options import LauncherChoice
from orchestrator.defaults import RESULTS

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
    model: bench_options.Model = None,
    family: bench_options.Family = None,
    all_: bench_options.All = False,
    backend: bench_options.Backend = None,
    runtime: bench_options.Runtime = None,
    precision: bench_options.Precision = None,
    batch_sizes: bench_options.BatchSizes = None,
    sequence_lengths: bench_options.SequenceLengths = None,
    image_sizes: bench_options.ImageSizes = None,
    audio_seconds: bench_options.AudioSeconds = None,
    new_tokens: bench_options.NewTokens = None,
    mode: bench_options.Mode = None,
    scenario: bench_options.Scenario = None,
    target_qps: bench_options.TargetQps = None,
    slo_ms: bench_options.SloMs = None,
    profile: bench_options.Profile = "quick",
    iterations: bench_options.Iterations = None,
    cell_timeout: bench_options.CellTimeout = None,
    memory: bench_options.Memory = None,
    select: options.Select = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS,
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
    from orchestrator.begin import Origin
    from orchestrator.bench_matrix import BenchOptions, bench_matrix

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
