"""Copies of the checkout whose runner is slower, or does the same in another image.

`tests/e2e/slow_runner.patch` makes each forward pass of torch slower by a known share. A copy with
a number has a comment more, so that its image is another one though it measures the same. The
images of a copy have its folder's name in theirs: a copy that is measured again finds its own,
and those of the checkout keep their names.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.system.git import ROOT

PATCH = ROOT / "tests" / "e2e" / "slow_runner.patch"
COPIED = ("analysis", "images", "orchestrator", "runner")
"""The folders that a run needs."""
_IN_PATCH = "SLOWER = 0.10"


def copied(folder: Path, share: float, number: int = 0, names: Sequence[str] = COPIED) -> Path:
    """A copy of the checkout's folders, slower by this share, with a comment of this number."""
    for name in names:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    if share:
        patch = PATCH.read_text("utf-8").replace(_IN_PATCH, f"SLOWER = {share}")
        subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=folder, check=True)
    if number:
        with (folder / "runner" / "__init__.py").open("a") as file:
            file.write(f"# rebuilt {number}\n")
    return folder


def bench(copy: Path, results: Path, words: Sequence[str], database: Path | None = None) -> int:
    """Measure in the copy's images, quietly; the exit code of `orchestrator bench`.

    Args:
        copy: the copy whose orchestrator and runner measure.
        results: the folder of all runs.
        words: the options that say what is measured.
        database: the database, unless it is that of the folder.
    """
    command = [sys.executable, "-m", "orchestrator", "--quiet", "bench", *words]
    command += ["--launcher", "docker", "--results", str(results.absolute())]
    command += ["--database", str(database.absolute())] if database else []
    own = {"PYTHONPATH": str(copy), "ACCELMATRIX_REGISTRY": f"copies/{copy.name}"}
    done = subprocess.run(
        command, cwd=copy, env={**os.environ, **own}, check=False, stdout=subprocess.DEVNULL
    )
    return done.returncode
