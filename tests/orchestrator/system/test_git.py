import subprocess
from pathlib import Path

import pytest

from orchestrator.system.git import git_commit


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A Tester", "-c", "user.email=tester@example.invalid"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "file").write_text("one\n")
    (folder / ".gitignore").write_text("results/\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "one")
    return folder


def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    assert git_commit(checkout) == git(checkout, "rev-parse", "HEAD")


def test_a_changed_checkout_says_so(checkout: Path) -> None:
    (checkout / "file").write_text("two\n")
    assert git_commit(checkout) == git(checkout, "rev-parse", "HEAD") + "-dirty"


def test_no_commit_of_a_copy_a_folder_inside_a_checkout_a_new_or_a_damaged_one(
    checkout: Path, tmp_path: Path
) -> None:
    copy, inside, new, damaged = folders = [
        *(tmp_path / "copy", checkout / "site-packages", tmp_path / "new", tmp_path / "damaged")
    ]
    for folder in folders:
        folder.mkdir()
    git(new, "init", "--quiet")
    (damaged / ".git").mkdir()
    assert [git_commit(folder) for folder in (copy, inside, new, damaged)] == [None] * 4


def test_a_git_hook_does_not_mislead(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(checkout / "another" / ".git"))
    assert git_commit(checkout) is not None


def test_a_machine_without_git(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    assert git_commit(checkout) is None
