"""Cases of tests/data/expected: a file, its changes, and the records that it becomes."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
import yaml

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Format, Reading
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import json_document
from tests.support.data import EXPECTED

Case = dict[str, Any]
_KEYS = {
    *("promise", "file", "format", "content", "set", "drop", "recognised", "damaged", "nothing"),
    *("records", "among", "every", "count", "faults", "empty"),
}


def read_cases(name: str) -> list[Case]:
    cases: list[Case] = yaml.safe_load((EXPECTED / f"{name}.yaml").read_text("utf-8"))
    assert all(case.keys() <= _KEYS for case in cases)
    return cases


def promise(case: Case) -> str:
    return str(case["promise"]).replace(" ", "_")


def check_case(case: Case, formats: Iterable[Format], files: Mapping[str, Any]) -> None:
    """Read the document of a case in one of these formats, and compare what comes out."""
    document = _document(case, files)
    fitting = [format_ for format_ in formats if format_.recognises(document)]
    assert len(fitting) == case.get("recognised", True)
    if "damaged" in case:
        with pytest.raises(DamagedFile, match=case["damaged"]):
            fitting[0].read(document)
    elif fitting:
        _check(fitting[0].read(document), case)


def _document(case: Case, files: Mapping[str, Any]) -> Document:
    content = copy.deepcopy(files[case["file"]] if "file" in case else case["content"])
    for pointer in case.get("drop", ()):
        holder, key = _holder(content, pointer)
        del holder[key]
    for pointer, value in case.get("set", {}).items():
        holder, key = _holder(content, pointer)
        holder[key] = value
    return json_document(content)


def _holder(content: Any, pointer: str) -> tuple[Any, str | int]:
    """The object or list that holds a place, and the place's key in it."""
    keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
    for key in keys[:-1]:
        content = content[int(key) if isinstance(content, list) else key]
    return content, int(keys[-1]) if isinstance(content, list) else keys[-1]


def _check(reading: Reading, case: Case) -> None:
    records = {found.location: found for found in reading.measurements}
    assert len(records) == len(reading.measurements) == case.get("count", len(records))
    if "records" in case:
        assert list(records) == list(case["records"])
    for location, columns in (case.get("records", {}) | case.get("among", {})).items():
        _check_record(records[location], columns)
    for record in records.values():
        _check_record(record, case.get("every", {}))
    assert records or "every" not in case
    assert reading.nothing == case.get("nothing")
    for name in ("faults", "empty"):
        assert list(getattr(reading, name)) == case.get(name, [])


def _check_record(record: ImportedMeasurement, columns: dict[str, Any]) -> None:
    for name, expected in columns.items():
        if name == "details":
            for key, text in expected.items():
                assert _is_as_told(record.details.get(key), text), (key, record.details)
        elif name == "all_details":
            assert record.details == expected
        elif name == "marked":
            assert expected in record.marks
        else:
            value = _plain(getattr(record, name))
            assert (str(value) if name == "measured_at" else value) == expected, name


def _plain(value: Any) -> Any:
    """The value as YAML knows it: lists for tuples."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _is_as_told(text: str | None, expected: str | None) -> bool:
    """True if the text is the expected one, or begins with it where that ends in `…`."""
    if expected and expected.endswith("…"):
        return text is not None and text.startswith(expected.removesuffix("…"))
    return text == expected
