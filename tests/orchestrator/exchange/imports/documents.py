"""Documents that lie in no folder."""

import json
from pathlib import Path
from typing import Any

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Format, Reading
from orchestrator.exchange.imports.measurement import ImportedMeasurement


def text_document(text: str, name: str = "results.csv") -> Document:
    return Document(Path("somewhere") / name, text.encode())


def json_document(data: Any, name: str = "results.json") -> Document:
    return text_document(json.dumps(data), name)


def read(format_: Format, document: Document) -> Reading:
    assert format_.recognises(document)
    return format_.read(document)


def only(reading: Reading) -> ImportedMeasurement:
    assert reading.faults == ()
    (found,) = reading.measurements
    return found
