"""Checks of a finished command line, and of the files around it."""

import subprocess
from pathlib import Path


def files(folder: Path) -> set[str]:
    """Every file and folder below."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def complains(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    """Assert that it ended with that code and one plain error, nothing on stdout."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr
