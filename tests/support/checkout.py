"""A copy of this checkout, and commands in it, as the steps of a workflow have them."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import ROOT


def do(folder: Path, *command: object, environment: Mapping[str, str] | None = None) -> str:
    """The output of a command, which must end well."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copied_checkout(folder: Path) -> Path:
    """The files that git knows, as a release's workflow has them."""
    names = do(ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in names:
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder
