"""Counted work of the models of a question that are not of the catalogue."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.examples.sibling_work import sibling_work
from orchestrator.commands.predict.cells import PossibleCells
from orchestrator.screen.words.reasons import error_text
from runner.contract.errors import BenchError
from runner.contract.models import ModelSpec
from runner.contract.models.work import Polynomials, catalogued_polynomials

if TYPE_CHECKING:
    from orchestrator.commands.predict.counted_work import ModelCounts

Notice = Callable[[str], None]
"""Hears in a line what is being done."""


def unheard_notice(_: str) -> None:
    """Notice that nobody hears."""


def counted_cells(possible: PossibleCells, results: Path, report: Notice) -> PossibleCells:
    """The cells with the counted work of their models; a job counts those that nobody has counted.

    Where that fails the work is taken from a counted model of the same architecture, with a
    sentence that says so; where there is none the reason stands in the place of the count.
    """
    custom = {
        name: model
        for name, model in possible.models.items()
        if catalogued_polynomials(model) is None
    }
    if not custom:
        return possible
    counted = _counted(custom, results, report)
    missing = {
        name: one.reason or "nobody counted its work"
        for name, one in counted.items()
        if one.polynomials is None
    }
    guesses = {name: work for name in missing if (work := sibling_work(custom[name]))}
    return replace(
        possible,
        counts={
            **{name: one.polynomials for name, one in counted.items() if one.polynomials},
            **{name: work.polynomials for name, work in guesses.items()},
        },
        uncounted={name: reason for name, reason in missing.items() if name not in guesses},
        guessed={
            name: f"the work of {name} is not counted ({missing[name]}); it is taken from"
            f" {work.sibling}, by layers and width"
            for name, work in guesses.items()
        },
    )


def kept_polynomials(results: Path) -> Callable[[ModelSpec], Polynomials | None]:
    """Gives the work of a model: the catalogue's, or what a job has counted."""
    from orchestrator.commands.predict.counted_work import known_counts

    return lambda model: known_counts(model, results).polynomials


def _counted(
    models: Mapping[str, ModelSpec], results: Path, report: Notice
) -> Mapping[str, "ModelCounts"]:
    from orchestrator.commands.predict.counted_work import (
        CountingOptions,
        ModelCounts,
        counted_polynomials,
    )

    options = CountingOptions(results)
    known = counted_polynomials(models, options)
    missing = {name: models[name] for name, one in known.items() if one.polynomials is None}
    if not missing:
        return known
    report(f"counting the work of {', '.join(missing)}, which takes some ten seconds each")
    try:
        return {**known, **counted_polynomials(missing, replace(options, launch=True))}
    except BenchError as error:
        return {**known, **dict.fromkeys(missing, ModelCounts(None, error_text(error)))}
