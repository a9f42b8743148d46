"""Imported records lie whole beside ours."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.errors import StoreError
from orchestrator.imports.content import contents_of, same
from orchestrator.imports.foreign_record import table_of
from orchestrator.imports.record_file import contents_at, path_of, runs_of, save
from orchestrator.imports.registry import FORMATS
from orchestrator.imports.verdict import judge_document
from orchestrator.store import Run
from tests.orchestrator.imports.documents import json_document
from tests.orchestrator.imports.formats.legacy.samples import DIRECT

NOW = datetime(2026, 11, 22, tzinfo=UTC)
RUN = Run(run_id="import-1", started_at=NOW, command="orchestrator import ü", planned=3)
TABLE = table_of(judge_document(json_document(DIRECT), FORMATS), NOW)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = path_of(tmp_path / "results", "import-1")
    assert path == tmp_path / "results/imports/import-1.parquet"
    save(TABLE, path, RUN)
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
    save(TABLE, path, RUN)
    path.write_bytes(path.read_bytes()[:-100])
    assert contents_at(path) is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be written: .* directory"):
        save(TABLE, path_of(tmp_path / "results", "import-1"), RUN)


def test_it_says_how_it_was_imported(tmp_path: Path) -> None:
    path = path_of(tmp_path, RUN.run_id)
    save(TABLE, path, RUN)
    assert runs_of([path]) == [RUN]


def test_what_says_nothing_of_its_import_is_passed_over(tmp_path: Path) -> None:
    silent, other, elsewhere = (path_of(tmp_path, name) for name in ("silent", "other", "x"))
    save(TABLE, other, RUN)
    pq.write_table(TABLE, silent)
    elsewhere.write_bytes(b"PAR1")
    save(TABLE, tmp_path / "import-1.parquet", RUN)
    assert runs_of([silent, other, elsewhere, tmp_path / "import-1.parquet"]) == []


def test_a_column_whose_name_is_no_text_is_told_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "import-1.parquet"
    save(TABLE, path, RUN)
    path.write_bytes(path.read_bytes().replace(b"source_place", b"source_plac\xf3"))
    assert contents_at(path) is None
