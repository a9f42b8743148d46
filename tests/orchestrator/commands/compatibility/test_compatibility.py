"""Compatibility of models and families with backends, and its tables on screens and in files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.compatibility.families import FamilySummary, MeanRatio
from analysis.compatibility.ratings import Level, Obstacle, Rating
from orchestrator.commands.compatibility.answer import (
    CompatibilityReport,
    compatibility_sheet,
    report_compatibility,
)
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.sheet import Sheet, print_sheet
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo
from runner.contract.record.record import Record
from tests.orchestrator.conftest import Screen
from tests.support.databases import write_records
from tests.support.records import a_failure, a_record

OPENVINO = {"backend": "openvino", "runtime": "openvino"}
QNN = {"backend": "qnn", "runtime": "onnxruntime"}
MIB = 1 << 20


def took(milliseconds: float, **changes: Any) -> Record:
    return a_record(latency_median_s=milliseconds / 1000, **changes)


def records() -> list[Record]:
    untimed = dict.fromkeys(("latency_median_s", "throughput", "steady_time_s"))
    return [
        took(8, memory_peak_bytes=200 * MIB),
        took(4, runtime="onnxruntime", memory_peak_bytes=200 * MIB),
        took(6, runtime="onnxruntime", precision="int8", memory_peak_bytes=100 * MIB),
        took(6, precision="int8", memory_peak_bytes=100 * MIB),
        took(16, batch_size=4),
        took(1, **OPENVINO),
        a_failure(
            "out_of_memory", "killed for exceeding the memory limit", batch_size=4, **OPENVINO
        ),
        a_record(precision="fp16", purpose="verify", **untimed, **QNN),
        a_failure("unavailable", "the HTP simulator's time says nothing about a device", **QNN),
        took(5, model="gpt2", family="text_generation"),
        a_failure("unsupported", "gpt2 takes at most 8 tokens, not 9", model="gpt2", **OPENVINO),
    ]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("compatibility")
    with Store.open_readonly(write_records(folder, records())) as store:
        yield store.path


def report(database: Path, **filters: Any) -> CompatibilityReport:
    return report_compatibility(SelectionRequest(database, filters=filters))  # type: ignore[arg-type]


def levels(database: Path) -> dict[tuple[str, str], str]:
    return {(one.model, one.backend): one.level for one in report(database).ratings}


def test_each_model_has_a_level_on_each_backend(database: Path) -> None:
    assert levels(database) == {
        ("bert-tiny", "cpu"): "Medium",
        ("bert-tiny", "openvino"): "Low",
        ("bert-tiny", "qnn"): "verified only",
        ("gpt2", "cpu"): "High",
        ("gpt2", "openvino"): "N/A",
        ("gpt2", "qnn"): "not measured",
    }


def test_shares_are_those_that_sql_gives(database: Path) -> None:
    with Store.open_readonly(database) as store:
        (row,) = store.arrow(
            "SELECT max(throughput) FILTER (backend = 'cpu') / max(throughput) AS share"
            " FROM latest_results WHERE model = 'bert-tiny' AND batch_size = 1"
        ).to_pylist()
    by_backend = {one.backend: one for one in report(database, model="bert-tiny").ratings}
    assert row["share"] == pytest.approx(0.25, rel=0.01)
    assert by_backend["cpu"].share == pytest.approx(row["share"])
    assert (by_backend["cpu"].cells, by_backend["cpu"].compared) == (2, 1)
    assert by_backend["openvino"].obstacle is not None
    assert by_backend["openvino"].obstacle.verdict == "out_of_memory"


def test_families_have_ratios_with_the_cells_they_rest_on(database: Path) -> None:
    report = report_compatibility(SelectionRequest(database), by_family=True)
    families = {one.family: one for one in report.families or ()}
    with Store.open_readonly(database) as store:
        (row,) = store.arrow(
            "SELECT avg(memory_mb) FILTER (precision = 'int8' AND runtime = 'torch')"
            " / avg(memory_mb) FILTER (precision = 'fp32' AND runtime = 'torch') AS int8"
            " FROM latest_results WHERE model = 'bert-tiny' AND batch_size = 1"
            " AND backend = 'cpu'"
        ).to_pylist()
    bert, gpt2 = families["embedding"], families["text_generation"]
    assert (bert.models, bert.backend, bert.largest_batch) == (1, None, 4)
    assert bert.speedup is not None
    assert (bert.speedup.undecided, bert.speedup.cells) == (1, 1), "no interval tells more"
    assert bert.int8_memory is not None
    assert bert.int8_memory.value == pytest.approx(row["int8"]) == pytest.approx(0.5)
    assert bert.scaling is not None
    assert (bert.scaling.value, bert.scaling.cells) == (pytest.approx(0.5, rel=0.01), 1)
    assert (gpt2.backend, gpt2.speedup, gpt2.int8_memory, gpt2.scaling) == ("cpu", None, None, None)


TIMED = {"effective_iterations": 20.0, "process_spread": 0.01}
WEBNN = {"backend": "webnn", "runtime": "onnxruntime_web"}
FAMILY_CELLS = {16: 8.0, 32: 16.0, 64: 32.0}
"""Milliseconds on the CPU by tokens."""


def timed(milliseconds: float, tokens: int, **changes: Any) -> Record:
    durations = [round(milliseconds * 1e6) + 1000 * step for step in range(20)]
    changes = {"grade": "B", "sequence_length": tokens, **TIMED, **changes}
    return a_record(durations_ns=durations, **changes)


def on_backend(factor: float, cells: int = 3, **changes: Any) -> list[Record]:
    known = [*FAMILY_CELLS.items()][:cells]
    return [timed(ms / factor, tokens, **changes) for tokens, ms in known]


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("others", "best", "cells"),
    [
        pytest.param(on_backend(4, **OPENVINO), "openvino", 3, id="faster in all cells"),
        pytest.param(
            [*on_backend(4, **OPENVINO), *on_backend(100, 1, grade="D", **WEBNN)],
            *("openvino", 3),
            id="one cell of grade D",
        ),
        pytest.param(
            [*on_backend(4, **OPENVINO), *on_backend(100, 1, **WEBNN)],
            *("openvino", 3),
            id="one cell of three",
        ),
        pytest.param(
            [*on_backend(4, **OPENVINO), *on_backend(6, 2, **WEBNN)],
            *("webnn", 2),
            id="two cells of three, in which it is faster than the other",
        ),
        pytest.param(on_backend(4, grade="D", **OPENVINO), None, 3, id="grade D alone"),
        pytest.param(on_backend(1.001, **OPENVINO), None, 3, id="nothing differs"),
        pytest.param(on_backend(0.5, **OPENVINO), "cpu", 3, id="slower in all cells"),
    ],
)
def test_the_best_backend_rests_on_equal_cells_and_grades(
    tmp_path: Path, others: list[Record], best: str | None, cells: int
) -> None:
    database = write_records(tmp_path, [*on_backend(1), *others])
    answer = report_compatibility(SelectionRequest(database), by_family=True)
    assert answer.families is not None
    (family,) = answer.families
    assert (family.backend, family.speedup.cells if family.speedup else 0) == (best, cells)
    table = compatibility_sheet(answer, "table").tables[1]
    faster = f"faster than the CPU beyond noise: {best}"
    assert any(note.startswith(faster) for note in table.notes) == (best not in (None, "cpu"))
    assert any(note.startswith("undecided: ") for note in table.notes) == (best is None)


def test_where_nothing_fits_a_command_helps(database: Path) -> None:
    with pytest.raises(NothingToDo) as error:
        report_compatibility(SelectionRequest(database, filters={"model": "bert-micro"}))
    assert "orchestrator bench" in str(error.value.hint)


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
    FamilySummary("audio", 1, None, None, None, None, None, None, ()),
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
        "audio 1 undecided – not measured not measured",
    ]
    assert "faster than the CPU beyond noise: openvino 1.9 times for embedding" in lines
    flat = sheet("csv", FAMILIES).rows[0]
    assert (flat["speedup"], flat["speedup_cells"], flat["scaling_low"]) == (1.9, 6, 0.2)
