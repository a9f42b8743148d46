"""`recommend --next`: the cells of a matrix whose measurement helps predictions most."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import ProfileChoice
from orchestrator.commands.program.groups import Command, with_option_group
from orchestrator.commands.program.refusals import refuse_all_but, refuse_without

if TYPE_CHECKING:
    from orchestrator.commands.recommend.output import RecommendationOutput

OUTPUT_OPTIONS = ("results", "database", "format_", "output", "force", "wide", "json")


class NarrowingUnit(StrEnum):
    """The unit by which the narrowing of intervals is counted."""

    cell = "cell"
    second = "second"


_OPTIONS: dict[str, tuple[Any, object]] = {
    "next_": (
        Annotated[
            Path | None,
            typer.Option(
                "--next",
                metavar="MATRIX",
                help="Choose cells of this file whose measurement helps predictions most.",
            ),
        ],
        None,
    ),
    "limit": (
        Annotated[
            int,
            typer.Option(
                metavar="N",
                help="--next: propose so many cells.",
                callback=options.require_positive,
            ),
        ],
        6,
    ),
    "per": (
        Annotated[
            NarrowingUnit,
            typer.Option(
                metavar=options.one_of(NarrowingUnit),
                help="--next: prefer what narrows most by cell, or by second of measuring.",
            ),
        ],
        NarrowingUnit.cell,
    ),
    "select": (options.Select, None),
    "set_": (options.Set, None),
    "profile": (options.Profile, None),
}
_OWN = tuple(name for name in _OPTIONS if name != "next_")


@dataclass(frozen=True)
class NextOptions:
    """Values of these options, as they were given."""

    next_: Path | None
    """The matrix; None if nothing was asked of one."""
    limit: int
    per: NarrowingUnit
    select: Sequence[str] | None
    set_: Sequence[str] | None
    profile: ProfileChoice | None

    def refuse_others(self, context: typer.Context) -> None:
        """Refuse options of a recommendation beside `--next`, and those of `--next` without it."""
        refuse_without(context, "--next", _OWN)
        if self.next_ is not None:
            refuse_all_but(context, "--next", (*_OWN, *OUTPUT_OPTIONS))


def with_next(command: Command) -> Command:
    """Give a command these options, which it takes as its parameter `proposed`."""
    return with_option_group(command, "proposed", _OPTIONS, lambda chosen: NextOptions(**chosen))


def show_next(
    chosen: NextOptions,
    matrix: Path,
    shown: "RecommendationOutput",
    results: Path,
    database: Path | None,
) -> None:
    """Show the cells of a matrix to measure next."""
    from orchestrator.commands.measure.plan_words import PlanningNotes
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.recommend.next_cells import NextRequest, propose_next

    plan = PlanRequest(
        matrix,
        overrides=options.overrides_of(chosen.set_, chosen.profile),
        select=tuple(chosen.select or ()),
        results=results,
        options=options.run_options(launcher=options.LauncherChoice.auto, database=database),
        progress=PlanningNotes(),
    )
    per_second = chosen.per is NarrowingUnit.second
    request = NextRequest(matrix, plan, chosen.limit, per_second=per_second, folder=shown.folder)
    shown.show_next(propose_next(request))
