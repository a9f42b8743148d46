"""docs/share.md: its commands run in its order, its snippets read what they wrote."""

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.commands.app import app
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.screen.words.records import record_words
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.conftest import ROOT
from tests.docs.command_line import command_line
from tests.docs.pages import Page
from tests.orchestrator.store.merge.test_origins import save as save_foreign
from tests.support.records import RECORDED_AT, a_failure, a_record

PAGE = Page(ROOT / "docs/share.md")
COMMANDS = list(PAGE.shell_lines())
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with results and somebody's bundle, after all commands of the page."""
    place = tmp_path_factory.mktemp("share")
    results = place / "results"
    results.mkdir()
    for record in (
        a_record(batch_size=1),
        a_record(batch_size=2, backend="openvino", runtime="openvino", model="gpt2"),
        a_failure("failed", "broke", batch_size=4),
    ):
        save_record(record, results)
    told = {"backend": None, "model": "resnet50"}
    theirs = a_record(run_id="import-1", proof="none").model_copy(update=told)
    save_foreign(results / "import.parquet", theirs, source="somebody", simulated=True)
    run = Run(run_id=a_record().run_id, started_at=RECORDED_AT, matrix="version: 1\n")
    with Store.open(results / "benchmarks.duckdb") as store:
        store.merge([results], run, words=record_words).require_complete()
    _write_theirs(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        command_line()
        for line in COMMANDS:
            assert app(shlex.split(line)[1:], standalone_mode=False) in {None, 0}, line
        yield place


def _write_theirs(place: Path) -> None:
    folder = place / "elsewhere"
    folder.mkdir()
    save_record(a_record(hostname="their-host", run_id="theirs"), folder)
    with Store.open(folder / "their.duckdb") as store:
        store.merge([folder], words=record_words)
    write_bundle(folder / "their.duckdb", (), place / "theirs.zip", force=False)
    shutil.copy(folder / "their.duckdb", place / "theirs.duckdb")


def test_the_commands_write_what_is_shown(shared: Path) -> None:
    assert len(COMMANDS) >= 10
    assert all(line.startswith("orchestrator ") for line in COMMANDS)
    (shown,) = PAGE.blocks("text")
    written = {path.relative_to(shared).as_posix() for path in shared.glob("lake/*/*/*")}
    assert set(shown.text.splitlines()) == written
    assert (shared / "performance.csv").read_text().startswith("result_id,")
    assert len(json.loads((shared / "compatibility.json").read_text())) == 2
    with Store.open_readonly(shared / "everyone.duckdb") as store:
        assert {run.run_id for run in store.runs()} == {a_record().run_id, "theirs", "import-1"}


def test_the_snippets_read_what_the_commands_wrote(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shared)
    for block in PAGE.blocks("python"):
        exec(block.text, {})
    assert capsys.readouterr().out == "2 2\n1 rows without a backend\n"
