"""What is said of an export."""

import json
from pathlib import Path

import pytest

from orchestrator.render.export import print_exported
from orchestrator.store import Exported, Wanted

Capture = pytest.CaptureFixture[str]
PATH = Path("lake")


@pytest.mark.parametrize(
    ("rows", "files", "told"),
    [
        (1234, 1, "raw: 1,234 rows: lake\n"),
        (1, 1, "raw: 1 row: lake\n"),
        (3, 2000, "raw: 3 rows in 2,000 files: lake\n"),
    ],
)
def test_rows_and_files_are_counted(rows: int, files: int, told: str, capsys: Capture) -> None:
    print_exported(Exported("raw", PATH, rows, files), Wanted("raw", PATH), as_json=False)
    assert capsys.readouterr().out == told


def test_an_empty_export_says_what_else_there_is(capsys: Capture) -> None:
    nothing = Exported("raw", PATH, 0, 1)
    print_exported(nothing, Wanted("raw", PATH), as_json=False)
    assert "`--all` takes every row" in capsys.readouterr().out
    print_exported(nothing, Wanted("raw", PATH, everything=True), as_json=False)
    assert "--all" not in capsys.readouterr().out


def test_an_export_as_json(capsys: Capture) -> None:
    print_exported(Exported("raw", PATH, 3, 2), Wanted("raw", PATH), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told == {"topic": "raw", "output": "lake", "rows": 3, "files": 2}
