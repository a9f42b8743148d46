"""The git checkout that this orchestrator runs from, if it does."""

import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""Folder of the checkout, or of the installed packages."""
_OTHER_CHECKOUT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables that git sets for its hooks, and that would override the folder it is given."""


def git_commit(root: Path = ROOT) -> str | None:
    """The checked-out commit, with `-dirty` behind it if files differ; None outside a checkout."""
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit}-dirty" if _git(root, "status", "--porcelain") else commit


@cache
def own_commit() -> str | None:
    """The commit of the checkout that this process runs from, as it was when first asked for."""
    return git_commit()


def _git(root: Path, *arguments: str) -> str | None:
    environment = {k: v for k, v in os.environ.items() if k not in _OTHER_CHECKOUT}
    command = ["git", "-C", str(root), *arguments]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
