"""Imported records lie whole beside ours."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from orchestrator.imports.content import contents_of, same
from orchestrator.imports.foreign_record import table_of
from orchestrator.imports.record_file import contents_at, path_of, save
from orchestrator.imports.registry import FORMATS
from orchestrator.imports.verdict import judge_document
from tests.orchestrator.imports.documents import json_document
from tests.orchestrator.imports.formats.legacy.samples import DIRECT

TABLE = table_of(judge_document(json_document(DIRECT), FORMATS), datetime(2026, 11, 22, tzinfo=UTC))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = path_of(tmp_path / "results", "import-1")
    assert path == tmp_path / "results/imports/import-1.parquet"
    save(TABLE, path)
    stored = contents_at(path)
    assert stored is not None
    assert same(stored, contents_of(TABLE))
    assert [file.name for file in path.parent.iterdir()] == ["import-1.parquet"]


@pytest.mark.parametrize("content", [None, b"", b"PAR1", b"x" * 1000])
def test_what_cannot_be_read_is_told_as_missing(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "import-1.parquet"
    if content is not None:
        path.write_bytes(content)
    assert contents_at(path) is None


def test_half_a_file_is_told_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "import-1.parquet"
    save(TABLE, path)
    path.write_bytes(path.read_bytes()[:-100])
    assert contents_at(path) is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be written: .* directory"):
        save(TABLE, path_of(tmp_path / "results", "import-1"))
