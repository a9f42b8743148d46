"""The AccelMatrix checkout this orchestrator runs from, if it does."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def git_commit(root: Path = ROOT) -> str | None:
    """The checked-out commit, with `-dirty` behind it if files differ; None outside a checkout."""
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit}-dirty" if _git(root, "status", "--porcelain") else commit


def _git(root: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
