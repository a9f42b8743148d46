"""The commands of docs/ask.md, line by line: from foreign files to a database elsewhere."""

import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.orchestrator.exchange.imports.files import TABLE, write
from tests.orchestrator.exchange.imports.formats.legacy import samples
from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow

LINES = list(Page(ROOT / "docs" / "ask.md").shell_lines())
FIRST = next(number for number, line in enumerate(LINES) if line.startswith("orchestrator import"))
WAY = [shlex.split(line, comments=True)[1:] for line in LINES[FIRST : FIRST + 9]]


def ask(folder: Path, *arguments: str) -> str:
    """The output of a command, which must succeed."""
    done = Workplace(folder, "process").do(*arguments)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder with files of two other benchmarks; one says that it was simulated."""
    write(tmp_path / "theirs/benchmark-infer-amp-nhwc-pt240-cu124-rtx4090.csv", TABLE)
    write(tmp_path / "theirs/browser_benchmark.json", samples.ALL["legacy-browser"])
    return tmp_path


def test_the_way_leads_to_the_same_database_elsewhere(folder: Path) -> None:
    dry, *others = WAY
    assert "would be added" in ask(folder, *dry)
    assert not (folder / "results").exists()
    for arguments in others:
        assert ask(folder, *arguments)
    count = "SELECT source, simulated, count(*) AS n FROM benchmark_results GROUP BY ALL ORDER BY n"
    here = ask(folder, "query", count, "--format", "csv")
    assert here == ask(folder, "query", count, "--format", "csv", "--database", "lab.duckdb")
    assert "pytorch-image-models,false,2" in here


def test_what_says_that_it_was_simulated_is_in_no_default_view(folder: Path) -> None:
    ask(folder, "import", "theirs")
    shown = ask(folder, "query", "SELECT DISTINCT source FROM imported_results", "--format", "csv")
    assert shown.split() == ["source", "pytorch-image-models"]
    marked = "SELECT count(*) AS n FROM benchmark_performance_all WHERE simulated"
    assert int(ask(folder, "query", marked, "--format", "csv").split()[1]) == 1
