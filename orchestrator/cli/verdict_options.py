"""Options by which a CI decides: how much slower is too slow, and which grade is good enough."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from runner.contract.record import Grade


class RequiredGrade(StrEnum):
    """Grades that can be required."""

    A = "A"
    B = "B"
    C = "C"


RequireGrade = Annotated[
    RequiredGrade | None,
    typer.Option(
        "--require-grade",
        metavar=options.one_of(RequiredGrade),
        help="End with exit code 8 if a result's grade is worse.",
    ),
]


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
