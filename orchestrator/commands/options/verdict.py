"""Options of verdicts: the baseline, the metrics, how much is too much, which grade is enough."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.program.completion import complete_metric, complete_side

if TYPE_CHECKING:
    from runner.contract.record import Grade


class RequiredGrade(StrEnum):
    """Grades that can be required."""

    A = "A"
    B = "B"
    C = "C"


Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN|last|SNAPSHOT|FILE",
        help="The run to judge against: its id, last~2, a snapshot, a host, or the path of a"
        " bundle, a folder, a database or an export.",
        autocompletion=complete_side,
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAMES",
        help="latency, p99, throughput, memory, energy, load, tokens, ttft, …, or number columns"
        " of a view.  [default: latency; throughput of offline, peak_qps of a sought rate]",
        autocompletion=complete_metric,
    ),
]
Threshold = Annotated[
    str,
    typer.Option("--threshold", metavar="SHARE", help="The least change that matters, 5% or 0.05."),
]
PerHost = Annotated[bool, typer.Option("--per-host", help="Series of each machine's name apart.")]
RequireGrade = Annotated[
    RequiredGrade | None,
    typer.Option(
        "--require-grade",
        metavar=options.one_of(RequiredGrade),
        help="End with exit code 8 if a result's grade is worse.",
    ),
]


def required_baseline(baseline: str | None, command: str) -> str:
    """The baseline that was named.

    Raises:
        UsageError: none was.
    """
    from runner.contract.errors import UsageError

    if baseline is None:
        raise UsageError(
            f"{command}: --baseline is missing",
            hint=f"for example `orchestrator {command} --baseline last`: the newest run before"
            " that shares a series",
        )
    return baseline


def threshold_share(text: str, option: str) -> float:
    """The fraction that an option names as `5%` or `0.05`.

    Raises:
        UsageError: it is no share above 0 and below 1.
    """
    from orchestrator.system.text import parse_share
    from runner.contract.errors import UsageError

    hint = "a change is written 5% or 0.05"
    try:
        share = parse_share(text)
    except ValueError:
        try:
            parse_share(f"{text.strip()}%")
        except ValueError:
            guess = ""
        else:
            guess = f"; did you mean {text.strip()}%?"
        raise UsageError(f"{option}: {text!r} is no share of the value{guess}", hint=hint) from None
    if share == 1:
        raise UsageError(f"{option}: {text!r} is not below 100 %", hint=hint)
    return share


def required_grade(choice: RequiredGrade | None) -> "Grade | None":
    """The grade that was chosen, as the analysis has it."""
    return cast("Grade | None", choice and choice.value)
