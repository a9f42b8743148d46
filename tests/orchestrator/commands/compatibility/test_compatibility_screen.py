"""Tables of compatibility and of families, on screens and in files."""

from pathlib import Path
from typing import Any

from analysis.compatibility.families import FamilySummary, MeanRatio
from analysis.compatibility.ratings import Level, Obstacle, Rating
from orchestrator.commands.compatibility.command import CompatibilityReport, compatibility_sheet
from orchestrator.screen.sheet import Sheet, print_sheet
from tests.orchestrator.conftest import Screen

DATABASE = Path("a.duckdb")
LACK = Obstacle("unsupported", "generation is not possible with qnn", "Measure its inference.")
OTHER = Obstacle("failed", "RuntimeError: broken", "Measure its inference.")


def a_rating(model: str, backend: str, level: Level, **changes: Any) -> Rating:
    facts: dict[str, Any] = {
        "family": "embedding",
        "mode": "inference",
        "share": None,
        "share_low": None,
        "share_high": None,
        "cells": 1,
        "compared": 0,
        "doubtful": 0,
        "fastest": None,
        "obstacle": None,
        "source": None,
    }
    return Rating(model=model, backend=backend, level=level, **facts | changes)


RATINGS = (
    a_rating("bert", "cpu", "Medium", share=0.23, compared=1),
    a_rating("bert", "openvino", "High", share=1.0, compared=1, doubtful=1),
    a_rating("bert", "qnn", "verified only", cells=0),
    a_rating("vit", "cpu", "High", family="vision"),
    a_rating("vit", "openvino", "N/A", cells=0, obstacle=LACK, family="vision"),
    a_rating("vit", "qnn", "N/A", cells=0, obstacle=OTHER, family="vision"),
    a_rating("wav", "cpu", "High", source="timm", share=0.5, compared=1),
    a_rating("wav", "openvino", "Low", share=0.02, compared=1, obstacle=LACK),
    a_rating("wav", "qnn", "not measured", cells=0),
)


FAMILIES = (
    FamilySummary(
        *("embedding", 3, "openvino", "cpu", MeanRatio(1.9, 1.1, 3.0, 6, 5)),
        *(MeanRatio(0.4, 0.3, 0.5, 8, 0), MeanRatio(0.28, 0.2, 0.3, 4, 0), 8, ()),
    ),
    FamilySummary("vision", 1, "cpu", None, None, None, None, None, ("timm",)),
    FamilySummary("audio", 1, "cpu", "qnn", MeanRatio(1.0, 1.0, 1.0, 2, 0), None, None, None, ()),
)


def sheet(form: str = "table", families: tuple[FamilySummary, ...] | None = None) -> Sheet:
    return compatibility_sheet(CompatibilityReport(DATABASE, RATINGS, families), form)


def test_a_row_is_a_model_and_footnotes_have_each_remedy_once(screen: Screen) -> None:
    print_sheet(sheet())
    lines = screen.printed()
    assert [line.split() for line in lines[:5]] == [
        ["inference"],
        ["model", "cpu", "openvino", "qnn"],
        ["bert", "Medium", "23", "%", "High", "100", "%", "verified", "only"],
        ["vit", "High", "N/A", "[1]", "N/A", "[2]"],
        ["wav", "High", "50", "%*", "Low", "2.0", "%", "[1]", "not", "measured"],
    ]
    assert lines.count("  remedy: Measure its inference.") == 1
    assert "[2] failed: RuntimeError: broken" in lines
    text = "\n".join(lines)
    for note in ("50 %", "10 %", "* measured by timm", "verified only: ", "grade D", "next: "):
        assert note in text


def test_csv_has_a_line_for_each_rating_and_json_the_thresholds() -> None:
    rows = sheet("csv").rows
    assert len(rows) == len(RATINGS)
    assert list(rows[0])[:5] == ["model", "family", "mode", "backend", "level"]
    data: Any = sheet("json").data
    assert data["thresholds"] == {"High": 0.5, "Medium": 0.1}
    assert data["ratings"][4]["remedy"] == "Measure its inference."


def test_a_family_has_its_numbers_with_their_cells(screen: Screen) -> None:
    print_sheet(sheet(families=FAMILIES))
    lines = [" ".join(line.split()) for line in screen.printed()]
    start = lines.index("Families of models")
    assert lines[start + 2 : start + 5] == [
        "embedding 3 openvino 1.9 (6) 0.4 (8) 0.28 at b8 (4)",
        "vision* 1 cpu not measured not measured not measured",
        "audio 1 cpu ? 1 (2) not measured not measured",
    ]
    assert "faster than the CPU beyond noise: openvino 1.9 times for embedding" in lines
    flat = sheet("csv", FAMILIES).rows[0]
    assert (flat["speedup"], flat["speedup_cells"], flat["scaling_low"]) == (1.9, 6, 0.2)
