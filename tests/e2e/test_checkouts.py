"""Two checkouts by processes: each runner in its own environment, side by side, also resumed."""

from pathlib import Path

import pytest

from tests.support.checkout import do, with_environment
from tests.support.slower_copies import copied
from tests.support.workplace import Workplace, wait_until

pytestmark = pytest.mark.slow

NOTHING_TO_JUDGE = 3
"""The fake backend proves no device, so that no verdict quotes it."""
NAP = "self._latency_s = float("
WHO = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost")


def slower_checkout(folder: Path) -> str:
    """A checkout whose fake backend takes three times as long, and an environment; its commit."""
    copied(folder, share=0, names=("runner",))
    fake = folder / "runner/backends/fake.py"
    assert NAP in fake.read_text()
    fake.write_text(fake.read_text().replace(NAP, NAP.replace("= ", "= 3 * ")))
    (folder / ".gitignore").write_text(".venv\n__pycache__\n")
    do(folder, "git", "init", "--quiet")
    do(folder, "git", "add", "--all")
    do(folder, "git", *WHO, "commit", "--quiet", "--message=slower")
    with_environment(folder)
    return do(folder, "git", "rev-parse", "HEAD").strip()


def test_another_checkout_is_measured_beside_this_one_and_taken_up_again(user: Workplace) -> None:
    commit = slower_checkout(user.folder / "base")
    user.write_matrix(batch_sizes=[1], latency_s=0.02)
    user.write_database()
    against = ("--compare-to", "./base", "--interleave", "--threshold", "20%")
    process = user.start(*user.run_arguments(*against))
    wait_until(lambda: user.has_begun and len(user.launches()) >= 3, "the third launch")
    process.kill()
    process.communicate()
    done = user.resume()
    assert done.returncode == NOTHING_TO_JUDGE, done.stderr
    run = user.run_folder.name
    rows = user.ask(
        "SELECT run_id, status, rounds, git_commit, launcher FROM benchmark_results"
        " JOIN environments USING (environment_id) ORDER BY run_id"
    )
    assert [(row["status"], row["launcher"]) for row in rows] == [("ok", "process")] * 2
    assert [row["git_commit"] == commit for row in rows] == [True, False]
    assert rows[0]["rounds"] == rows[1]["rounds"] >= 6
    ratios = user.ask(f"SELECT ratio, bursts FROM paired_ratios WHERE result_id LIKE '{run}%'")
    assert len(ratios) == rows[0]["rounds"]
    assert all(one["bursts"] > 1 and 0.2 < one["ratio"] < 0.6 for one in ratios)
