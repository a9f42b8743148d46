"""The origin project's files, each with the records that it becomes: tests/data/expected."""

import copy
from typing import Any

import pytest
import yaml

from orchestrator.imports.document import Document
from orchestrator.imports.formats.legacy import LEGACY
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.reading import Reading
from runner.contract.errors import DamagedFile
from tests.orchestrator.imports.documents import json_document
from tests.orchestrator.imports.formats.legacy.samples import FILES
from tests.support.data import EXPECTED

CASES = yaml.safe_load((EXPECTED / "legacy.yaml").read_text("utf-8"))
KEYS = {
    *("promise", "file", "format", "content", "set", "drop", "recognised", "damaged", "nothing"),
    *("records", "among", "every", "count", "faults", "empty"),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["promise"].replace(" ", "_"))
def test_a_file_becomes_its_records(case: dict[str, Any]) -> None:
    assert case.keys() <= KEYS
    document = document_of(case)
    name = case.get("format") or case["file"].removesuffix("-with-metadata")
    formats = [each for each in LEGACY if each.name == name and each.recognises(document)]
    assert len(formats) == case.get("recognised", True)
    if "damaged" in case:
        with pytest.raises(DamagedFile, match=case["damaged"]):
            formats[0].read(document)
    elif formats:
        check(formats[0].read(document), case)


def document_of(case: dict[str, Any]) -> Document:
    """The document of a case, with its changes."""
    content = copy.deepcopy(FILES[case["file"]] if "file" in case else case["content"])
    for pointer in case.get("drop", ()):
        holder, key = holder_of(content, pointer)
        del holder[key]
    for pointer, value in case.get("set", {}).items():
        holder, key = holder_of(content, pointer)
        holder[key] = value
    return json_document(content)


def holder_of(content: Any, pointer: str) -> tuple[Any, str | int]:
    """The object or list that holds a place, and the place's key in it."""
    keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
    for key in keys[:-1]:
        content = content[int(key) if isinstance(content, list) else key]
    return content, int(keys[-1]) if isinstance(content, list) else keys[-1]


def check(reading: Reading, case: dict[str, Any]) -> None:
    """Compare what was read with everything that the case names."""
    records = {found.location: found for found in reading.measurements}
    assert len(records) == len(reading.measurements) == case.get("count", len(records))
    if "records" in case:
        assert list(records) == list(case["records"])
    for location, columns in (case.get("records", {}) | case.get("among", {})).items():
        check_record(records[location], columns)
    for record in records.values():
        check_record(record, case.get("every", {}))
    assert records or "every" not in case
    assert reading.nothing == case.get("nothing")
    for name in ("faults", "empty"):
        assert list(getattr(reading, name)) == case.get(name, [])


def check_record(record: ImportedMeasurement, columns: dict[str, Any]) -> None:
    """Compare one record with the columns that are expected of it."""
    for name, expected in columns.items():
        if name == "details":
            for key, text in expected.items():
                assert is_as_told(record.details.get(key), text), (key, record.details)
        elif name == "all_details":
            assert record.details == expected
        elif name == "marked":
            assert expected in record.marks
        else:
            value = getattr(record, name)
            plain = {tuple: list}.get(type(value), str if name == "measured_at" else None)
            assert (plain(value) if plain else value) == expected, name


def is_as_told(text: str | None, expected: str | None) -> bool:
    """True if the text is the expected one, or begins with it where that ends in `…`."""
    if expected and expected.endswith("…"):
        return text is not None and text.startswith(expected.removesuffix("…"))
    return text == expected


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
