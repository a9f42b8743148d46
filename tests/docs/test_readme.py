"""The README and the pages of reference say what the code does."""

import re
import tomllib
from pathlib import Path

import pytest

import runner
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.app import EPILOG
from orchestrator.commands.main import BUG, INTERRUPTED
from orchestrator.commands.regress.answer import REGRESSION_CODE
from orchestrator.commands.results.result_table import TABLE_COLUMNS
from orchestrator.fleet.hosts_file import read_hosts_file
from orchestrator.matrix import load_matrix
from runner.contract import errors, support
from runner.contract.errors import BenchError
from tests.conftest import ROOT
from tests.docs.pages import COMMANDS, GITHUB, PAGES, README, SUPPORTED

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SHOWN = [block.text for block in README.blocks("console")]


def exit_codes(error: type[BenchError]) -> set[int]:
    """The codes of this error and of all that derive from it."""
    return {error.exit_code}.union(*map(exit_codes, error.__subclasses__()))


def test_the_exit_codes_are_those_of_the_errors() -> None:
    assert errors.StoreError in BenchError.__subclasses__()
    codes = exit_codes(BenchError) | {0, 1, REGRESSION_CODE, BUG, INTERRUPTED}
    assert {int(row[0]) for row in COMMANDS.rows("code")} == codes
    assert {int(code) for code in re.findall(r"\b\d+\b", EPILOG)} == codes


def test_the_supported_combinations_are_those_that_are_built() -> None:
    claimed = set()
    for row in SUPPORTED.rows("backend"):
        backend, runtime, modes, precisions = (re.findall(r"`(\w+)`", cell) for cell in row[:4])
        support_class, _, where = row[4].partition(": ")
        spec = CATALOGUE[backend[0]]
        assert support_class == str(spec.support_class)
        by_hand = spec.measured_by_hand
        assert where == (f"{by_hand.device}, {by_hand.day}" if by_hand else "")
        for mode in modes:
            claimed.add((backend[0], runtime[0], mode, *sorted(precisions)))
    assert claimed == {(*key, *sorted(precisions)) for key, precisions in support.SUPPORTED.items()}
    for backend in CATALOGUE:  # those that are not built are named as well
        assert (f"`{backend}`" in SUPPORTED.prose) == (backend != "fake")


def test_the_matrix_it_shows_is_sound(tmp_path: Path) -> None:
    matrices = [b.text for b in README.blocks("yaml") if b.text.startswith("version:")]
    assert matrices
    for text in matrices:
        (tmp_path / "matrix.yaml").write_text(text)
        assert load_matrix(tmp_path / "matrix.yaml").models


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/examples").glob("*.yaml")), ids=lambda path: path.name
)
def test_every_example_is_sound_and_linked(path: Path) -> None:
    assert read_hosts_file(path) if path.name == "hosts.yaml" else load_matrix(path).models
    names = {Path(link).name for page in PAGES for link in page.links}
    assert path.name in names


def test_the_workflow_it_shows_is_the_one_in_use() -> None:
    workflow = (ROOT / ".github/workflows/benchmark.yml").read_text("utf-8")
    parts = [block.text for block in GITHUB.blocks("yaml")]
    assert parts
    for part in parts:
        assert part in workflow


def test_the_output_it_shows_has_todays_columns() -> None:
    lines = SHOWN[0].splitlines()
    heading = next(number for number, line in enumerate(lines) if " · " in line)
    varying, *measured = re.split(r"  +(?=median)", lines[heading + 1].strip())
    assert measured, "a table of more than one row begins with what varies"
    assert set(varying.split()) <= {"runtime", "precision", "batch"}
    shown = re.split(r"  +", measured[0])
    assert shown == [column for column in TABLE_COLUMNS if column in shown]


def test_what_is_published_agrees_with_the_distribution() -> None:
    assert (PROJECT["license"], PROJECT["requires-python"]) == ("Apache-2.0", ">=3.11,<3.14")
    assert "Python 3.11 to 3.13" in README.prose
    assert "END OF TERMS AND CONDITIONS" in (ROOT / "LICENSE").read_text("utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version, _ = re.findall(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", changes, re.MULTILINE)[0]
    assert version == runner.__version__
