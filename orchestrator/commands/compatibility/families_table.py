"""Families of models in a row each, every number with the cells it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from analysis.compatibility.families import REFERENCE, FamilySummary, MeanRatio
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number

_NOT_MEASURED = "not measured"
_IMPORTED_MARK = "*"
_RATIOS = ("speedup", "int8_memory", "scaling")


def flat_families(families: Sequence[FamilySummary]) -> list[dict[str, Any]]:
    """The families with their numbers alone, as CSV has them."""
    return [*map(_flat, families)]


def families_table(families: Sequence[FamilySummary]) -> Table:
    """The families as people read them, with what follows."""
    fields = [
        Field("family", essential=True, wraps=True),
        Field("models"),
        Field("backend", "best", essential=True),
        Field("speedup", f"× {REFERENCE} (n)", essential=True, right=True),
        Field("int8_memory", "int8 MB (n)", essential=True, right=True),
        Field("scaling", "scaling (n)", essential=True, right=True),
    ]
    rows, notes = [*map(_texts, families)], [*_notes(families)]
    return Table("Families of models", fields, rows, notes)


def _texts(family: FamilySummary) -> dict[str, object]:
    """A family as people see it."""
    batch = f" at b{family.largest_batch}" if family.scaling else ""
    mark = _IMPORTED_MARK if family.sources else ""
    backend = family.backend or _NOT_MEASURED
    if not family.is_sure:
        backend = f"{backend} ?"
    return {
        "family": f"{family.family}{mark}",
        "models": family.models,
        "backend": backend,
        "speedup": _text(family.speedup),
        "int8_memory": _text(family.int8_memory),
        "scaling": _text(family.scaling, batch),
    }


def _text(ratio: MeanRatio | None, more: str = "") -> str:
    if ratio is None:
        return _NOT_MEASURED
    return f"{format_number(ratio.value)}{more} ({ratio.cells:,})"


def _flat(family: FamilySummary) -> dict[str, Any]:
    """A family as a line of CSV: `speedup`, `speedup_low`, `speedup_cells` and so on."""
    facts = asdict(family)
    nothing = dict.fromkeys(("value", "low", "high", "cells", "sure"))
    for name in _RATIOS:
        ratio = facts.pop(name) or nothing
        facts |= {f"{name}_{part}".removesuffix("_value"): ratio[part] for part in nothing}
    return facts | {"sources": ", ".join(family.sources)}


def _notes(families: Sequence[FamilySummary]) -> Iterator[str]:
    yield _answer(families)
    yield (
        f"n: cells, of which ratios are the geometric mean; × {REFERENCE}: throughput of the best"
        " backend by the CPU's in the same cell, each by its best runtime; int8 MB: memory in int8"
        " by that in fp32; scaling: throughput at the largest batch by batch times that of batch 1"
    )
    if any(not one.is_sure for one in families):
        yield "?: in most cells the difference is not beyond intervals and grades: measure longer"
    if sources := sorted({name for one in families for name in one.sources}):
        yield f"{_IMPORTED_MARK} partly measured by {', '.join(sources)}: never proven nor verified"


def _answer(families: Sequence[FamilySummary]) -> str:
    """The families that a backend is faster for than the CPU, as far as that is sure."""
    faster = [
        f"{one.backend} {format_number(one.speedup.value)} times for {one.family}"
        for one in families
        if one.speedup and one.is_sure and one.backend != REFERENCE
    ]
    if not faster:
        return "no backend is faster than the CPU beyond noise, as far as was measured"
    return f"faster than the CPU beyond noise: {', '.join(faster)}"
