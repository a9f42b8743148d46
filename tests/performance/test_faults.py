"""The table of faults names tests and measurements that exist, and goes between a page's marks."""

from pathlib import Path

import pytest

from performance import faults
from performance.faults import PARTS, Measurement, Row, Suite
from tests.conftest import ROOT

ROW = Row("a | b", "2", "all held", "1 s at most", "one verdict", holds=True)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_names_what_there_is(name: str) -> None:
    part = PARTS[name]
    if isinstance(part, Measurement):
        assert (ROOT / "performance" / f"{part.module}.py").exists()
        return
    for test in part.tests:
        path, _, function = test.partition("::")
        assert (ROOT / "tests" / path).exists()
        assert not function or f"def {function}(" in (ROOT / "tests" / path).read_text("utf-8")


def test_the_table_replaces_the_one_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [tmp_path / "faults.md", tmp_path / "security.md"]
    for page in pages:
        page.write_text(f"before\n{faults.BEGIN}\nold\n{faults.END}\nafter\n")
    monkeypatch.setattr(Suite, "row", lambda self: ROW)
    assert faults.main(["clock", "hostile", "--write"], tmp_path) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[2:] == [
        "| tried | how many | result | figure | limit |",
        "| --- | --- | --- | --- | --- |",
        *2 * ["| a / b | 2 | all held | 1 s at most | one verdict |"],
    ]
    border = shown.rpartition("| a / b")[0]
    for page, content in zip(pages, (shown, border), strict=True):
        assert page.read_text() == f"before\n{faults.BEGIN}\n{content}{faults.END}\nafter\n"
    monkeypatch.setattr(Suite, "row", lambda self: ROW._replace(holds=False))
    assert faults.main(["clock"]) == 1


@pytest.mark.parametrize("page", ["faults.md", "security.md"])
def test_the_page_has_the_marks(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert text.count(faults.BEGIN) == text.count(faults.END) == 1
