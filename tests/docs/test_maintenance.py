"""docs/health.md: its commands on maintenance and snapshots do what the page says."""

import shlex
from pathlib import Path

import pytest

from orchestrator.commands.app import app
from orchestrator.screen.words.records import record_words
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.conftest import ROOT
from tests.docs.command_line import command_line
from tests.docs.pages import Page
from tests.support.records import a_record

PAGE = Page(ROOT / "docs" / "health.md")
SHOWN = [
    shlex.split(line, comments=True)[1:]
    for line in PAGE.shell_lines()
    if line.startswith("orchestrator database") and " check" not in line
]
RUN_ID = "20261121-115951-3fa2"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run's results and a snapshot of them, measured again since."""
    site = tmp_path_factory.mktemp("site")
    folder = site / "results" / RUN_ID / "records"
    folder.mkdir(parents=True)
    save_record(a_record(run_id=RUN_ID), folder)
    with Store.open(site / "results" / "benchmarks.duckdb") as store:
        store.merge([folder], words=record_words)
    return site


@pytest.mark.slow
@pytest.mark.parametrize("arguments", SHOWN, ids=" ".join)
def test_a_command_works(
    site: Path,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(site)
    command_line()
    assert app(arguments, standalone_mode=False) in (None, 0)
    assert capsys.readouterr().out
    answer = query(site / "results" / "benchmarks.duckdb", "SELECT * FROM benchmark_results")
    assert answer.num_rows == 1
