"""`python -m performance synthesise`, and where its rows may go."""

import json
from pathlib import Path

import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.store import Store
from performance.synthesise import main
from runner.contract.errors import StoreError

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


@pytest.mark.slow
def test_synthetic_results_go_into_a_scratch_database_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    assert main(["--rows", "600", "--output", str(folder), "--json"]) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert (summary["rows"], len(summary["files"])) == (600, 1)
    assert printed.err == "600 of 600 results written\n"
    with Store.open(tmp_path / "real.duckdb") as real:
        refused = real.merge([folder])
        assert (len(refused.refused), real.runs()) == (600, [])
    with pytest.raises(StoreError, match=r"refused 600 rows that no device made"):
        refused.require_complete()
    with Store.open(tmp_path / "scratch.duckdb", scratch=True) as scratch:
        assert scratch.merge([folder]) == MergeReport(inserted=600)
        assert len(scratch.runs()) == 2


def test_the_command_to_merge_them_is_told_and_wrong_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    assert main(["--rows", "10", "--output", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"10 synthetic results in {folder}: ")
    scratch = folder / "scratch.duckdb"
    assert f"`orchestrator merge {folder} --scratch --database {scratch}`" in printed
    with pytest.raises(SystemExit) as ended:
        main(["--rows", "0", "--output", str(tmp_path / "none")])
    assert ended.value.code == 2
    assert main(["--rows", "1", "--output", str(tmp_path)]) == 6
    assert "is not empty" in capsys.readouterr().err
