"""`run`, `bench` and `run --resume`, as a user sees them."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.orchestrator.commands.conftest import FinishedRun
from tests.support.command_line import complains, files
from tests.support.workplace import Workplace, wait_until

NO_LAUNCH = ("--budget", "0s")


def test_a_run_shows_progress_on_stderr_and_results_on_stdout(finished: FinishedRun) -> None:
    done = finished.done
    assert done.returncode == 1
    assert [f"[{number}/3]" in done.stderr for number in (1, 2, 3)] == [True] * 3
    assert "3 to run in 1 job, 0 to skip, 0 done; about " in done.stderr.partition("[1/3]")[0]
    assert "\x1b" not in done.stderr + done.stdout
    assert f"run {finished.place.run_folder.name}: 2 ok, 1 failed" in done.stdout
    assert "database: results/benchmarks.duckdb" in done.stdout


@pytest.mark.slow
def test_a_worse_grade_than_the_required_one_is_told_behind_the_results(place: Workplace) -> None:
    done = place.run("--limit", "1", "--require-grade", "A", "--json")
    assert done.returncode == 8, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    worse = f"--require-grade A: 1 of 1 result is below it: {result['cell_id']} ({result['grade']})"
    assert worse in done.stderr
    assert f"`orchestrator status {place.run_folder.name} --why" in done.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("version: 2\n", ["matrix.yaml: version"]),
        ("version: 1\naxes: {model: [nobody], backend: cpu}\n", ["axes.model[0]", "'nobody'"]),
        ("", ["matrix.yaml: is empty"]),
    ],
)
def test_a_bad_matrix_is_refused_by_place_and_value(
    place: Workplace, change: str, words: list[str]
) -> None:
    (place.folder / "matrix.yaml").write_text(change)
    before = files(place.folder)
    complains(place.run(), 2, "error: ", *words)
    assert files(place.folder) == before


@pytest.mark.parametrize("command", [["run", "matrix.yaml"], ["status"]])
def test_an_unknown_order_is_refused_before_anything_is_measured(
    place: Workplace, command: list[str]
) -> None:
    before = files(place.folder)
    complains(place.do(*command, "--sort", "memry"), 2, "hint: did you mean memory?")
    assert files(place.folder) == before


def test_a_runs_findings_and_its_table_are_shown_again(measured: Workplace) -> None:
    table = measured.do("--quiet", "status", "last", "--ids", "--sort", "batch-size").stdout
    assert [line.split("-")[0] for line in table.splitlines()[2:]] == ["fake"] * 3
    findings = measured.do("status", "--why")
    assert findings.returncode == 0
    assert findings.stdout.splitlines()[0] == f"run {measured.run_folder.name}"
    assert "a scripted failure" in findings.stdout


def test_verifying_only_and_not_at_all_exclude_each_other(place: Workplace) -> None:
    before = files(place.folder)
    done = place.do("run", "matrix.yaml", "--verify-only", "--no-verify")
    complains(done, 2, "error: --verify-only and --no-verify", "hint: give one of them")
    assert files(place.folder) == before


def test_a_run_traces_and_measures_by_a_profile(place: Workplace) -> None:
    options = ("--trace", "--profile", "audit", "--sustained")
    assert place.run(*options, *NO_LAUNCH).returncode == 3
    written = json.loads((place.run_folder / "run.json").read_text())
    assert written["options"]["trace"] is True
    measure = written["plan"]["measure"]["fake"]
    assert (measure["profile"], measure["heat_s"]) == ("audit", 60)


def test_a_dry_run_writes_nothing(place: Workplace) -> None:
    before = files(place.folder)
    done = place.run("--dry-run")
    assert (done.returncode, files(place.folder)) == (0, before)
    assert "3 to run in 1 job," in done.stdout
    assert json.loads(place.run("--dry-run", "--json").stdout)["cells"]
    assert files(place.folder) == before


def test_select_set_and_limit_shape_the_run(place: Workplace) -> None:
    options = ["--set", "axes.batch_size=1,8,16", "--select", "!*-b1-*", "--limit", "1"]
    assert place.run(*options, *NO_LAUNCH).returncode == 3
    assert place.verdicts_by_batch() == {8: "unavailable"}


@pytest.mark.slow
def test_sigterm_is_an_interruption(place: Workplace) -> None:
    place.write_matrix({"*": "hang"})
    place.write_database()
    process = place.start(*place.run_arguments())
    wait_until(lambda: any(place.folder.glob("results/*/jobs/*.json")), "the first job")
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert "with 3 cells left" in stderr
    assert "--resume last" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ([], "--model, --family, --modality and --all"),
        (["--model", "bert-tiny", "--all"], "exactly one"),
        (["--model", "bert-tinny"], "bert-tiny"),
        (["--model", "bert-tiny", "--precision", "fp17"], "--precision"),
    ],
)
def test_bench_names_the_option_that_is_wrong(
    place: Workplace, options: list[str], word: str
) -> None:
    complains(place.do("bench", *options), 2, word)


def test_locks_that_cannot_be_kept_are_told(place: Workplace) -> None:
    (place.folder / "file").write_text("")
    place.environment["ACCELMATRIX_LOCKS"] = str(place.folder / "file")
    done = place.run()
    assert (done.returncode, "device locks cannot be kept" in done.stderr) == (6, True)


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "*"],
        ["--set", "axes.batch_size=1"],
        ["--weights-seed", "3"],
        ["--dry-run"],
        ["--compare-to", "last"],
    ],
    ids=lambda options: options[0],
)
def test_resuming_changes_no_plan(measured: Workplace, options: list[str]) -> None:
    done = measured.do("run", "--resume", "last", *options)
    complains(done, 2, f"so {options[0]} cannot change it")


def test_an_unknown_run_or_another_matrix_is_refused(measured: Workplace) -> None:
    done = measured.do("run", "--resume", "nobody")
    complains(done, 2, "'nobody' is not a run", measured.run_folder.name)
    complains(measured.do("run", "nowhere.yaml", "--resume", "last"), 2, "nowhere.yaml")
    other = measured.folder / "other.yaml"
    other.write_text((measured.folder / "matrix.yaml").read_text() + "# another\n")
    done = measured.do("run", "other.yaml", "--resume", "last")
    complains(done, 2, "other.yaml: differs from the matrix of run")


def test_resuming_takes_the_variables_that_the_run_named(
    measured: Workplace, tmp_path: Path
) -> None:
    place = Workplace(shutil.copytree(measured.folder, tmp_path / "named"), "process")
    for record in place.run_folder.rglob("*.parquet"):
        record.unlink()
    path = place.run_folder / "run.json"
    run = json.loads(path.read_text())
    run["options"]["inherit_environ"] = ["UNSET_HERE"]
    path.write_text(json.dumps(run))
    complains(place.resume(), 2, "'UNSET_HERE' is not set in this environment")


def test_resuming_merges_what_a_killed_run_did_not(measured: Workplace, tmp_path: Path) -> None:
    place = Workplace(shutil.copytree(measured.folder, tmp_path / "killed"), "process")
    (place.folder / "results/benchmarks.duckdb").unlink()
    complains(place.resume(), 3, "a verdict for each of its cells")
    assert sorted(place.verdicts().values()) == ["failed", "ok", "ok"]
    assert place.has_one_verdict_each()
