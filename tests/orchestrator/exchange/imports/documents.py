"""Documents that lie in no folder."""

import json
from pathlib import Path
from typing import Any

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Format, Reading
from orchestrator.exchange.imports.measurement import ImportedMeasurement


def text_document(text: str, name: str = "results.csv") -> Document:
    """A document with this text."""
    return Document(Path("somewhere") / name, text.encode())


def json_document(data: Any, name: str = "results.json") -> Document:
    """A document with this data as JSON."""
    return text_document(json.dumps(data), name)


def read(format_: Format, document: Document) -> Reading:
    """What a format makes of a document that it recognises."""
    assert format_.recognises(document)
    return format_.read(document)


def only(reading: Reading) -> ImportedMeasurement:
    """The one measurement of a reading without faults."""
    assert reading.faults == ()
    (found,) = reading.measurements
    return found
