"""docs/security.md: what was tried names its proofs, and the question about trust is answered."""

import re
from pathlib import Path

from orchestrator.screen.words.records import record_words
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.support.records import a_record

TRIED = Page(ROOT / "docs/security.md")


def test_everything_that_was_tried_names_the_test_that_holds_it() -> None:
    rows = TRIED.rows("tried", "outcome", "held by")
    assert len(rows) >= 20
    assert rows[0][2] != "the same"
    for _, outcome, test in rows:
        assert outcome
        paths = re.findall(r"`([^`]+)`", test)
        assert paths or test == "the same"
        assert all((ROOT / path).is_file() for path in paths)


def test_the_question_about_trust_is_answered(tmp_path: Path) -> None:
    (block,) = TRIED.blocks("sql")
    labels = {"org.accelmatrix.image": "image not verified"}
    save_record(a_record(image="x/accelmatrix-cpu:1", image_labels=labels), tmp_path)
    with Store.open(tmp_path / "database.duckdb") as store:
        store.merge([tmp_path], words=record_words)
    (row,) = query(tmp_path / "database.duckdb", block.text).to_pylist()
    assert row == {"image": "x/accelmatrix-cpu:1", "trust": "image not verified", "results": 1}
