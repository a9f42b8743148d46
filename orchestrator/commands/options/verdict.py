"""Options of verdicts: the baseline, the metrics, how much is too much, which grade is enough."""

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from orchestrator.commands.program.completion import complete_metric, complete_side
from orchestrator.system.options import choice
from orchestrator.system.text import parse_share, split_list
from runner.contract.errors import UsageError

PassingGrade = Literal["A", "B", "C"]


def share(option: str) -> Callable[[object], float]:
    """A parser of the fraction that an option names as `5%` or `0.05`."""

    def parse(value: object) -> float:
        text, hint = str(value), "a change is written 5% or 0.05"
        try:
            fraction = parse_share(text)
        except ValueError:
            message = f"{option}: {text!r} is no share of the value{_guess(text)}"
            raise UsageError(message, hint=hint) from None
        if fraction == 1:
            raise UsageError(f"{option}: {text!r} is not below 100 %", hint=hint)
        return fraction

    return parse


def _guess(text: str) -> str:
    try:
        parse_share(f"{text.strip()}%")
    except ValueError:
        return ""
    return f"; did you mean {text.strip()}%?"


def _names(texts: list[str] | None) -> list[str]:
    return list(dict.fromkeys(split_list(texts or ())))


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
        callback=_names,
        autocompletion=complete_metric,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="SHARE",
        help="The least change that matters, 5% or 0.05.  [default: 5%]",
        parser=share("--threshold"),
    ),
]
PerHost = Annotated[bool, typer.Option("--per-host", help="Series of each machine's name apart.")]
RequireGrade = Annotated[
    PassingGrade | None,
    choice(
        PassingGrade, "--require-grade", help="End with exit code 8 if a result's grade is worse."
    ),
]


def required_baseline(baseline: str | None, command: str) -> str:
    if baseline is None:
        raise UsageError(
            f"{command}: --baseline is missing",
            hint=f"for example `orchestrator {command} --baseline last`: the newest run before"
            " that shares a series",
        )
    return baseline
