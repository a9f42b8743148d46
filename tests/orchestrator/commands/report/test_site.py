"""A site: a folder of pages that opens without anything else."""

from collections.abc import Callable
from pathlib import Path
from re import findall

import pytest

from orchestrator.commands.report.answer import report_everything
from orchestrator.commands.report.site import Site
from orchestrator.commands.results.selection import SelectionRequest
from runner.contract.errors import NothingToDo, UsageError
from tests.support.comparable import write_comparable


@pytest.fixture
def selected(tmp_path: Path) -> SelectionRequest:
    write_comparable(tmp_path)
    return SelectionRequest(tmp_path / "benchmarks.duckdb")


@pytest.mark.slow
def test_the_first_page_leads_to_every_other(
    selected: SelectionRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "site"
    Site(folder).write(report_everything(selected))
    pages = {path.name for path in folder.iterdir()}
    index = (folder / "index.html").read_text("utf-8")
    assert {*findall(r'href="([a-z]+\.html)"', index)} == pages - {"index.html"}
    assert {"performance.html", "compatibility.html", "run.html"} <= pages
    assert f"leads to {len(pages) - 1} pages" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("prepare", "force", "message"),
    [
        (lambda folder: folder.touch(), False, "exists"),
        (lambda folder: (folder.mkdir(), (folder / "index.html").touch()), False, "exists"),
        (lambda folder: (folder.mkdir(), (folder / "mine").touch()), True, "holds mine"),
    ],
)
def test_what_is_no_site_is_not_replaced(
    tmp_path: Path, prepare: Callable[[Path], object], force: bool, message: str
) -> None:
    folder = tmp_path / "site"
    prepare(folder)
    with pytest.raises(UsageError, match=message):
        Site(folder).require(force=force)


def test_a_database_without_results_makes_none(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with pytest.raises(NothingToDo, match="holds nothing that a page could show"):
        Site(folder).write([])
    assert not folder.exists()
