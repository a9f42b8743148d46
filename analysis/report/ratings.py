"""Ratings in reports: models × backends, with what stands in the way and what helps."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from analysis.compatibility.evidence import read_evidence
from analysis.compatibility.families import FamilySummary, MeanRatio, summarise_families
from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Rating, rate
from analysis.report.report import ReportSection, table_section
from analysis.report.results import ReportedResults
from analysis.results.table import Field, Table

_THRESHOLDS = (
    "High: works, is proven and agrees, with at least"
    f" {100 * HIGH_SHARE:.0f} % of the best backend's throughput for the same cell. Medium: at"
    f" least {100 * MEDIUM_SHARE:.0f} %. Low: less, or with limits. N/A: does not work."
)
_REASONS = (
    Field("model"),
    Field("mode"),
    Field("backend"),
    Field("level", kind="grade"),
    Field("share", "share of the best", "share", "share_low", "share_high"),
    Field("cells", kind="number"),
    Field("runtime", "fastest runtime"),
    Field("precision", "and precision"),
    Field("verdict"),
    Field("reason", kind="prose"),
    Field("remedy", "what helps", "prose"),
    Field("source", "measured by"),
)
_FAMILIES = (
    Field("family"),
    Field("models", kind="number"),
    Field("backend", "best backend"),
    Field("speedup", "times as fast as cpu", "number", "speedup_low", "speedup_high"),
    Field("speedup_cells", "in cells", "number"),
    Field("memory", "memory of int8 by fp32", "number", "memory_low", "memory_high"),
    Field("memory_cells", "in cells", "number"),
    Field("largest_batch", "largest batch", "number"),
    Field("scaling", "its scaling efficiency", "share"),
    Field("scaling_cells", "in cells", "number"),
)


def rating_section(results: ReportedResults) -> ReportSection:
    """The ratings of all models of the selection on all backends."""
    ratings = rate(read_evidence(results.source, results.selection))
    return table_section("ratings", "Models on backends", _matrix(ratings), _reasons(ratings))


def _matrix(ratings: tuple[Rating, ...]) -> Table:
    rows: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for rating in ratings:
        row = rows[rating.model, rating.mode]
        row |= {"model": rating.model, "mode": rating.mode, f"on_{rating.backend}": rating.level}
    backends = sorted({rating.backend for rating in ratings})
    columns = (
        Field("model"),
        Field("mode"),
        *(Field(f"on_{name}", name, "grade") for name in backends),
    )
    return Table("Models × backends", columns, list(rows.values()), (_THRESHOLDS,), "ratings")


def _reasons(ratings: tuple[Rating, ...]) -> Table:
    rows = [_reason(one) for one in ratings if one.level != "not measured"]
    table = Table("Levels with what they rest on", _REASONS, rows, name="rated")
    return table.filled()


def _reason(rating: Rating) -> Mapping[str, Any]:
    runtime, precision = rating.fastest or (None, None)
    obstacle = rating.obstacle
    return {
        **{name: getattr(rating, name) for name in ("model", "mode", "backend", "level")},
        **{name: getattr(rating, name) for name in ("share", "share_low", "share_high")},
        "cells": rating.cells,
        "runtime": runtime,
        "precision": precision,
        "verdict": obstacle and obstacle.verdict,
        "reason": obstacle and obstacle.reason,
        "remedy": obstacle and obstacle.remedy,
        "source": rating.source,
    }


def family_section(results: ReportedResults) -> ReportSection:
    """A row for each family: its best backend, int8's memory, scaling with the batch."""
    rows = [_family(one) for one in summarise_families(results.source, results.shown)]
    notes = (
        "Ratios are geometric means, with the least and the greatest of the cells. A question mark"
        " says that most of its cells show no difference beyond intervals and grades.",
    )
    table = Table("Families", _FAMILIES, rows, notes, "families")
    return table_section("families", "Families", table.filled())


def _family(summary: FamilySummary) -> Mapping[str, Any]:
    return {
        "family": summary.family,
        "models": summary.models,
        "backend": summary.backend if summary.is_sure else f"{summary.backend} ?",
        "largest_batch": summary.largest_batch,
        **_mean("speedup", summary.speedup),
        **_mean("memory", summary.int8_memory),
        **_mean("scaling", summary.scaling),
    }


def _mean(name: str, ratio: MeanRatio | None) -> Mapping[str, float | None]:
    if ratio is None:
        return {}
    ends = {f"{name}_low": ratio.low, f"{name}_high": ratio.high}
    return {name: ratio.value, **ends, f"{name}_cells": ratio.cells}
