"""Every shape that the origin project left, mutilated ones, and its real files."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Format, Reading
from orchestrator.exchange.imports.formats.legacy import LEGACY
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.cases import Case, check_case, promise, read_cases
from tests.orchestrator.exchange.imports.files import json_document, text_document
from tests.orchestrator.exchange.imports.formats.legacy.samples import ALL, COLLECTION, FILES
from tests.support.data import DATA, LEGACY_FILES
from tests.support.properties import property_test

BROKEN = "test_benchmark_database/database_metadata.json"
WRONG = [None, float("nan"), -1, 0, 1, 1e400, 10**400, "", "12.5", "slow", True, [], [{}], {}]


def fitting(document: Document) -> list[Format]:
    formats: tuple[Format, ...] = LEGACY
    return [format_ for format_ in formats if format_.recognises(document)]


def outcome(document: Document) -> Reading | None:
    """The reading, checked for what each one keeps to; None if the file can't be read."""
    try:
        reading = fitting(document)[0].read(document)
    except DamagedFile:
        return None
    assert bool(reading.measurements) != (reading.nothing is not None)
    places = [found.location for found in reading.measurements]
    assert len(set(places)) == len(places)
    assert all(found.reason for found in reading.measurements if found.status != "ok")
    assert all(found.simulated == bool(found.marks) for found in reading.measurements)
    return reading


@pytest.mark.parametrize(("name", "value"), [*ALL.items(), ("legacy-checks", COLLECTION)])
def test_one_format_recognises_each_shape(name: str, value: Any) -> None:
    document = json_document(value)
    assert [format_.name for format_ in fitting(document)] == [name]
    reading = outcome(document)
    assert reading is not None
    assert reading.faults == ()


@pytest.mark.parametrize(
    "value", [{}, [], None, 5, "text", [1, 2], {"results": {}}, {"model": "bert"}, {"a": {"b": 1}}]
)
def test_other_json_is_not_recognised(value: Any) -> None:
    assert fitting(json_document(value)) == []


def test_what_is_no_json_is_not_recognised() -> None:
    assert fitting(text_document('{"created": "2025", "schema":')) == []


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value if isinstance(value, list) else ()
    pairs = value.items() if isinstance(value, dict) else enumerate(items)
    return [path, *(below for key, item in pairs for below in paths(item, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any, *, drop: bool) -> None:
    for key in path[:-1]:
        value = value[key]
    if drop:
        del value[path[-1]]
    else:
        value[path[-1]] = copy.deepcopy(new)


@st.composite
def mutilated(draw: st.DrawFn) -> Any:
    value = copy.deepcopy(draw(st.sampled_from([*ALL.values(), COLLECTION])))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths(value)))
        if path:
            changed(value, path, draw(st.sampled_from(WRONG)), drop=draw(st.booleans()))
    return value


@property_test(400, mutilated())
def test_mutilated_files_end_in_one_of_the_outcomes(value: Any) -> None:
    document = Document(Path("file.json"), json.dumps(value).encode())
    if fitting(document):
        outcome(document)


@pytest.mark.parametrize("path", LEGACY_FILES, ids=lambda path: str(path.relative_to(DATA)))
def test_the_real_files_have_an_outcome(path: Path) -> None:
    document = Document.read(path)
    formats = fitting(document)
    assert len(formats) == (0 if str(path).endswith(BROKEN) else 1)
    if not formats:
        assert document.json_fault == "not JSON: Expecting value (line 5, column 21)"
        return
    reading = outcome(document)
    assert reading is not None
    assert reading.faults == ()
    assert reading.empty == ()
    assert any(found.simulated for found in reading.measurements) or "webgpu" not in str(path)


CASES = read_cases("legacy")


@pytest.mark.parametrize("case", CASES, ids=promise)
def test_a_file_becomes_its_records(case: Case) -> None:
    name = case.get("format") or case["file"].removesuffix("-with-metadata")
    check_case(case, [format_ for format_ in LEGACY if format_.name == name], FILES)


def test_every_sample_has_a_case() -> None:
    assert FILES.keys() == {case["file"] for case in CASES if "file" in case}


def test_a_list_of_browsers_reads_each_model_as_a_file_of_its_own() -> None:
    alone, several = (
        next(each for each in LEGACY if each.name == name).read(json_document(FILES[name]))
        for name in ("legacy-browser", "legacy-browsers")
    )
    first = several.measurements[0]
    moved = {"location": "/results/0", "marks": first.marks}
    assert first == alone.measurements[0].model_copy(update=moved)
