"""docs/python.md: its examples are run one after the other, and its tables agree with the code."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.support.records import a_failure, a_record

PAGE = Page(ROOT / "docs/python.md")
EXAMPLES = [block.text for block in PAGE.blocks("python")]
PRINTED = (
    "20261121-120000-abcd accelmatrix {'ok': 2, 'out_of_memory': 1}",
    "cpu-bert-tiny-fp32-b1-s128-inference 0.003",
    "cpu-bert-tiny-fp32-b1-s128-inference 2000000 4000000",
    "cpu-bert-tiny-fp32-b512-s128-inference out_of_memory killed at 2 GB",
    "1000.0",
    "did you mean bert-tiny?",
    "2 model\nbert-tiny    1000.0",
    "torch fp32",
    "[{'results': 3}]",
    "3 0 0",
    "bert-tiny cpu ok 2",
    "nowhere.duckdb: there is no database yet | measure something first",
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with results as a run leaves them."""
    folder = tmp_path / "results" / "run"
    folder.mkdir(parents=True)
    for record in (
        a_record(batch_size=1),
        a_record(batch_size=8, durations_ns=[7_000_000, 8_000_000, 9_000_000]),
        a_failure("out_of_memory", "killed at 2 GB", batch_size=512),
    ):
        save_record(record, folder)
    with Store.open(tmp_path / "results" / "benchmarks.duckdb") as store:
        store.merge([folder], words=record_words)
    return tmp_path


@pytest.mark.slow
def test_every_example_works(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    names: dict[str, Any] = {}
    assert len(EXAMPLES) == len(PRINTED)
    for code, expected in zip(EXAMPLES, PRINTED, strict=True):
        exec(code, names)
        assert expected in capsys.readouterr().out
