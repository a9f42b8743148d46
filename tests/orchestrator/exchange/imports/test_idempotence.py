"""A second import of the same file changes nothing, whatever the file holds."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.importing import import_files, preview_import
from orchestrator.exchange.imports.outcome import read_document
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT
from tests.orchestrator.exchange.imports.test_strangers import SAMPLES, mutated
from tests.support.properties import try_examples


def changes_nothing(data: Any) -> None:
    """Import twice, with a preview between."""
    outcome = read_document(Document(Path("a.json"), json.dumps(data).encode()), FORMATS)
    with TemporaryDirectory() as folder:
        results, database = Path(folder), Path(folder, "x.duckdb")
        first = import_files([outcome], results, database, "import")
        assert first.merged is not None
        assert first.merged.damaged == ()
        if first.added:
            previewed = preview_import([outcome], database)
            for again in (previewed, import_files([outcome], results, database, "import")):
                assert (again.added, again.replaced, again.gone) == (0, 0, 0)
                assert again.there == first.added


@pytest.mark.slow
@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_text_is_null(blank: str) -> None:
    changes_nothing(DIRECT | {"hardware": blank, "cpu_model": blank, "device_name": blank})


@pytest.mark.slow
def test_whatever_a_file_holds_is_imported_once() -> None:
    try_examples(12, changes_nothing, mutated(SAMPLES))


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
def test_a_moment_at_an_end_of_the_calendar_is_refused_by_its_key(moment: str) -> None:
    content = json.dumps(DIRECT | {"timestamp": moment}).encode()
    outcome = read_document(Document(Path("a.json"), content), FORMATS)
    assert not outcome.reading.measurements
    assert "/timestamp: " in outcome.summary
    assert "is not between 0001-01-02 and 9999-12-30, UTC" in outcome.summary
