"""Files that nobody has seen: known ones with keys dropped, renamed, nested and values broken.

Whatever comes out: no exception, no number that the file does not tell, no simulated row unmarked.
"""

import copy
import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.measurement import UNITS, ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome, read_document
from orchestrator.exchange.imports.record import records_table
from tests.orchestrator.exchange.imports.files import TABLE
from tests.orchestrator.exchange.imports.formats.legacy.samples import ALL, COLLECTION
from tests.orchestrator.exchange.imports.formats.optimum import (
    config,
    encoder_report,
    generation_report,
)
from tests.support.data import LEGACY_FILES
from tests.support.properties import property_test

TOP = {"config": config(), "report": encoder_report()}
GENERATED = {"config": config(), "report": generation_report()}
SAMPLES = [*ALL.values(), COLLECTION, TOP, GENERATED]
BROKEN = [
    *(None, True, False, 0, -1, 1, 7, 1e400, -1e400, float("nan"), 10**30, 10**400, 2**63, 1e300),
    *("", " ", "12.5", "12 ms", "1,5", "slow", "N/A", "nan", "inf", "\ud800", "\x00", "x" * 3000),
    *([], [{}], [None], [[1]], {}, {"value": 3}, {"a": {"b": {"c": 1}}}),
]
MARKS: list[dict[str, Any]] = [
    {"simulation_mode": True},
    {"simulated_hardware": ["webgpu", "rocm"]},
    {"WARNING": {"details": "This file may contain simulated benchmark results."}},
    {"is_real_hardware": False},
]
NAMES = ["model", "status", "success", "results", "latency_ms", "batch_size", "MODEL", "", "a/b~c"]
FACTORS = [float(factor) for units in UNITS.values() for factor in units.values()]
UNITS_JOULES = float(UNITS["joules"]["kWh"])
"""A file may tell samples per kilowatt hour, of which we keep joules per sample."""
LARGEST = 1e300
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
WHEN = datetime(2026, 11, 22, tzinfo=UTC)


def judged(content: bytes, name: str = "results.json") -> FileOutcome:
    """The verdict on a file, which is one of the outcomes, and whose records can be stored."""
    verdict = read_document(Document(Path(name), content), FORMATS)
    assert verdict.summary
    found = verdict.reading.measurements
    assert bool(found) == (verdict.kind == "records")
    table = records_table(verdict, WHEN)
    assert table.num_rows == len(found) == len(set(table["cell_id"].to_pylist()))
    assert all(each.simulated == bool(each.marks) for each in found)
    assert all(each.reason for each in found if each.status != "ok")
    return verdict


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else enumerate(items):
        yield from places(item, (*path, key))


@st.composite
def mutated(draw: st.DrawFn, samples: list[Any]) -> Any:
    """A sample with a few of its values or names changed."""
    value = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 4))):
        way = draw(st.sampled_from(list(places(value))))
        if way:
            mutate(draw, inside(value, way[:-1]), way[-1])
    return value


def inside(value: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        value = value[key]
    return value


def mutate(draw: st.DrawFn, holder: Any, key: Any) -> None:
    deed = draw(st.sampled_from(["drop", "break", "nest", "rename"]))
    if deed == "break":
        holder[key] = copy.deepcopy(draw(st.sampled_from(BROKEN)))
    elif deed == "nest":
        holder[key] = draw(st.sampled_from([{"value": holder[key]}, [holder[key]]]))
    elif deed == "rename" and isinstance(holder, dict):
        holder[draw(st.sampled_from(NAMES))] = holder.pop(key)
    else:
        del holder[key]


def told_numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from told_numbers(key)
            yield from told_numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from told_numbers(item)
    elif isinstance(value, str):
        yield from (float(number) for number in NUMBER.findall(value))
    elif isinstance(value, int | float) and abs(value) <= LARGEST:
        yield float(value)


def invented(found: ImportedMeasurement, value: Any) -> list[float]:
    """Numbers of a record that the file does not tell, in whichever of our units."""
    numbers = list(told_numbers(value))
    told = [number * factor for number in numbers for factor in FACTORS]
    told += [UNITS_JOULES / number for number in numbers if number]
    columns = found.model_dump(exclude={"details", "libraries", "part_durations_ns", "simulated"})
    durations = columns.pop("durations_ns") or ()
    kept = [each for each in (*columns.values(), *durations) if isinstance(each, int | float)]
    return [each for each in kept if not any(is_near(each, number) for number in told)]


def is_near(number: float, told: float) -> bool:
    """Whether they are the same, up to the rounding to whole bytes and nanoseconds."""
    rounding = 0.5 if isinstance(number, int) and number > 1000 else 0.0
    return math.isclose(number, told, rel_tol=1e-9, abs_tol=rounding)


@property_test(300, mutated(SAMPLES))
def test_mutated_samples_end_in_an_outcome(value: Any) -> None:
    for found in judged(json.dumps(value).encode()).reading.measurements[:3]:
        assert invented(found, json.loads(json.dumps(value))) == []


@property_test(150, st.data())
def test_mutated_real_files_end_in_an_outcome(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(LEGACY_FILES))
    value = Document.read(path).json
    if value is not None:
        judged(json.dumps(data.draw(mutated([value]))).encode(), path.name)


@property_test(
    300, mutated([sample for sample in SAMPLES if isinstance(sample, dict)]), st.sampled_from(MARKS)
)
def test_a_mark_at_the_top_marks_every_row(value: Any, mark: dict[str, Any]) -> None:
    if isinstance(value, dict):
        marked = {**value, **mark}
        assert all(
            found.simulated for found in judged(json.dumps(marked).encode()).reading.measurements
        )


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_at_the_top_changes_no_ending(mark: dict[str, Any]) -> None:
    for value in SAMPLES:
        if isinstance(value, dict):
            plain, marked = (judged(json.dumps(each).encode()) for each in (value, value | mark))
            assert (marked.format, marked.kind) == (plain.format, plain.kind)
            assert len(marked.reading.measurements) == len(plain.reading.measurements)


@property_test(200, st.sampled_from(SAMPLES), st.data())
def test_bytes_that_were_cut_or_changed_end_in_an_outcome(value: Any, data: st.DataObject) -> None:
    content = bytearray(json.dumps(value, indent=1).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    judged(bytes(content[: data.draw(st.integers(0, len(content)))]))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig"])
def test_every_encoding_ends_in_an_outcome(encoding: str) -> None:
    text = json.dumps({**ALL["legacy-direct"], "note": "café"}, ensure_ascii=False)
    assert judged(text.encode(encoding)).kind in {"records", "not recognised"}


CELLS = ["", "-1", "1e999", "nan", "12 ms", "yes", "\x00", "é", "9" * 400, '"', "a,b", "0x10", "٣"]


@property_test(200, st.data())
def test_mutated_tables_end_in_an_outcome(data: st.DataObject) -> None:
    rows = [line.split(",") for line in TABLE.splitlines()]
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.sampled_from(CELLS))
    text = "\n".join(",".join(row) for row in rows)
    verdict = judged(text.encode(), "benchmark-infer-amp-nhwc-pt210-cu121-rtx3090.csv")
    for found in verdict.reading.measurements:
        assert invented(found, text) == []
