"""`run.json`: its id is the name of a folder, and its size is bounded."""

import json
from pathlib import Path

import pytest

from orchestrator.running import run_file
from orchestrator.running.run_file import read_run_file
from runner.contract.errors import DamagedFile, UsageError
from tests.support.runs import a_run_folder


@pytest.mark.parametrize(
    "run_id", ["../outside", "/tmp", "..", ".hidden", "", "a/b", "a b", "a\n", "\x1b[1m", "x" * 241]
)
def test_an_id_that_is_no_name_of_a_folder_is_damage(tmp_path: Path, run_id: str) -> None:
    path = a_run_folder(tmp_path).path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run_id": run_id}))
    with pytest.raises(DamagedFile, match="run_id"):
        read_run_file(path)


def test_a_file_beyond_the_bound_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_run_folder(tmp_path)
    size = (folder.path / "run.json").stat().st_size
    monkeypatch.setattr(run_file, "RUN_BYTES", size - 1)
    with pytest.raises(DamagedFile, match=f"has {size:,} bytes"):
        read_run_file(folder.path / "run.json")
    with pytest.raises(UsageError, match="the plan of 3 cells takes") as caught:
        a_run_folder(tmp_path, run_id="run-2")
    assert "--select" in str(caught.value.hint)
    assert not (tmp_path / "run-2").exists()


def test_a_hundred_thousand_cells_fit(tmp_path: Path) -> None:
    """Each takes some more room than one of three does beyond what they share."""
    run = a_run_folder(tmp_path).run
    entries = run.plan.entries
    fewer = run.model_copy(update={"plan": run.plan.model_copy(update={"entries": entries[:1]})})
    grown = len(run.model_dump_json()) - len(fewer.model_dump_json())
    assert 100_000 * grown / (len(entries) - 1) < run_file.RUN_BYTES
