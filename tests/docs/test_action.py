"""The action at the root: its verdict stops a job, and nothing judged is never silent."""

import shlex
from pathlib import Path

import pytest

from tests.docs.command_line import parse
from tests.docs.workspace import (
    NOTE_CALLS,
    REAL,
    Workspace,
    benchmark_script,
    exit_status,
    step_script,
)

JUDGE = step_script("action.yml", "Judge")
STAND_IN = f"""
{NOTE_CALLS}
case "$1" in
  regress) if [ -n "$COMMENT" ]; then echo "$COMMENT" > comment.md; fi; exit "$CODE" ;;
  merge) exit "$MERGED" ;;
  query) echo results; echo "$RESULTS" ;;
esac
"""
"""An orchestrator whose baseline is merged with a code, and holds so many results."""


@pytest.mark.parametrize(
    ("code", "asked", "merged", "results", "ended", "said"),
    [
        (0, "", 0, 1, 0, None),
        (0, "fail", 0, 1, 0, None),
        (3, "", 0, 1, 3, "error"),
        (3, "", 0, 0, 0, "warning"),
        (3, "", 2, 0, 3, "error"),  # a table cannot be merged, and was not found to be empty
        (3, "fail", 0, 0, 3, "error"),
        (3, "warn", 0, 1, 0, "warning"),
        (3, "pass", 0, 1, 0, "notice"),
        (3, "never", 0, 1, 2, "error"),
        (0, "never", 0, 1, 2, "error"),
        (7, "pass", 0, 1, 7, None),
        (8, "", 0, 1, 0, "warning"),
        (6, "pass", 0, 1, 6, None),
    ],
)
@pytest.mark.parametrize("comment", ["", "**Nothing could be judged**"])
def test_the_verdict_ends_the_job_or_is_said(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    *,
    code: int,
    asked: str,
    merged: int,
    results: int,
    ended: int,
    said: str | None,
    comment: str,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.prepare(STAND_IN)
    (tmp_path / "comment.md").write_text("of an earlier job on this runner")
    numbers = {"CODE": code, "MERGED": merged, "RESULTS": results}
    variables = {name: str(number) for name, number in numbers.items()}
    status = exit_status(
        *(workspace, JUDGE),
        **(variables | {"BASELINE": "base.zip", "ON_NOTHING_JUDGED": asked, "COMMENT": comment}),
    )
    assert status == ended
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("::")]
    assert [line.split("::")[1] for line in lines] == ([said] if said else [])
    if asked != "never":
        summary = tmp_path / "summary"
        text = summary.read_text() if summary.exists() else ""
        assert "of an earlier job" not in text
        assert (code != 3 and not comment) or "**Nothing" in text
        for line in (tmp_path / "calls").read_text().splitlines():
            parse(shlex.split(line))


@pytest.mark.parametrize(("code", "ended"), [(0, 0), (3, 0), (7, 7), (8, 0)])
def test_the_benchmark_workflow_warns_likewise(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: int, ended: int
) -> None:
    workspace = Workspace(tmp_path)
    workspace.prepare(f"exit {code}")
    (tmp_path / "history").mkdir()
    (tmp_path / "history/benchmarks.duckdb").touch()
    assert exit_status(workspace, benchmark_script("Judge")) == ended
    assert ("::warning::" in capfd.readouterr().out) == (code in (3, 8))


@pytest.mark.slow
def test_an_empty_baseline_is_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace(tmp_path)
    workspace.prepare(f'if [ "$1" = regress ]; then exit 3; fi\n{REAL}')
    (tmp_path / "empty").mkdir()
    assert exit_status(workspace, JUDGE, BASELINE="empty", ON_NOTHING_JUDGED="") == 0
    assert "::warning::Nothing was judged" in capfd.readouterr().out


MEASURE = step_script("action.yml", "Measure")


@pytest.mark.parametrize(("code", "bundle"), [(0, True), (3, False), (7, True), (8, True)])
def test_a_version_is_measured_side_by_side_and_its_verdict_is_the_jobs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: int, bundle: bool
) -> None:
    workspace = Workspace(tmp_path)
    said = f'if [ "$1" = run ]; then echo verdict > comment.md; exit {code}; fi'
    workspace.prepare(f"{NOTE_CALLS}\n{said}")
    beside = {"COMPARE_TO": "../base", "BUDGET": "50m", "BASELINE": ""}
    calls = workspace.execute(MEASURE, **beside)
    asked = parse(calls[0])
    assert (asked["compare_to"], asked["interleave"]) == ("../base", True)
    assert (asked["budget_s"], asked["threshold"]) == (3000, 0.05)
    assert [call[0] for call in calls[1:]] == (["export"] if bundle else [])
    outputs = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert outputs == {"code": str(code)} | ({"bundle": "bundle.zip"} if bundle else {})
    ended = exit_status(workspace, JUDGE, **beside, MEASURED=outputs["code"])
    assert ended == {0: 0, 3: 3, 7: 7, 8: 0}[code]
    assert (tmp_path / "summary").read_text() == "verdict\n"
    assert ("::warning::" in capfd.readouterr().out) == (code == 8)
    assert not (tmp_path / "calls").exists()  # nothing is judged again


@pytest.mark.parametrize(
    ("variables", "code", "ended"),
    [
        ({"BASELINE": "base.zip", "COMPARE_TO": "../base"}, 0, 2),
        ({"BASELINE": "", "COMPARE_TO": "../base"}, 5, 5),
        ({"BASELINE": "base.zip", "COMPARE_TO": ""}, 3, 3),
        ({"BASELINE": "", "COMPARE_TO": ""}, 0, 0),
    ],
)
def test_what_keeps_a_run_from_its_end_ends_the_job(
    tmp_path: Path, variables: dict[str, str], code: int, ended: int
) -> None:
    workspace = Workspace(tmp_path)
    workspace.prepare(f'if [ "$1" = run ]; then exit {code}; fi')
    assert exit_status(workspace, MEASURE, BUDGET="50m", **variables) == ended
