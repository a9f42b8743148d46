"""Options that stand for a matrix."""

from typing import Annotated

import typer

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
