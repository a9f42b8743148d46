import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.docs.pages import FILES, stale, write


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path


def test_what_is_missing_or_changed_by_hand_is_stale_and_what_was_written_is_fresh(
    checkout: Path,
) -> None:
    assert stale(checkout) == list(FILES)
    write(checkout)
    contents = {name: (checkout / name).read_bytes() for name in FILES}
    assert stale(checkout) == []
    write(checkout)
    assert {name: (checkout / name).read_bytes() for name in FILES} == contents
    name = next(iter(FILES))
    (checkout / name).write_text((checkout / name).read_text() + "\n")
    assert stale(checkout) == [name]


def test_every_file_says_something_and_ends_with_one_newline() -> None:
    for name, make in FILES.items():
        text = make()
        assert len(text) > 500, name
        assert re.search(r"[^\n]\n\Z", text), name
        assert not name.endswith(".json") or json.loads(text)["type"] == "object"


@pytest.mark.slow
def test_the_committed_files_are_fresh() -> None:
    command = [sys.executable, "-m", "tools.docs.pages", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
