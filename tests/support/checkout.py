"""A copy of this checkout, and commands in it, as the steps of a workflow have them."""

import shutil
import subprocess
import sys
import sysconfig
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


def with_python(folder: Path, script: str) -> Path:
    """Give a checkout an environment whose Python does this."""
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return folder


def with_environment(folder: Path) -> Path:
    """Give a checkout an environment of its own, which finds the packages installed in ours."""
    do(folder, sys.executable, "-m", "venv", "--without-pip", ".venv")
    (site,) = (folder / ".venv/lib").glob("python*/site-packages")
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder
