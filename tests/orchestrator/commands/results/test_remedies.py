"""Remedies of a run: the cause that explains most, and a command that works as it is printed."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from analysis.results.row import ResultRow
from orchestrator.commands.app import app
from orchestrator.commands.results.remedies import Remedy, find_remedy
from orchestrator.commands.results.run_report import RunReport, RunsReport
from orchestrator.commands.results.run_words import print_findings
from orchestrator.screen.words.doubts import INHERIT_KEEPING, KEEP_MEMORY, REMEDIES
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from runner.contract.record.verdict import Doubt, DoubtCode, Grade, RemedyCode
from tests.conftest import ROOT
from tests.docs.command_line import command_line, parse
from tests.orchestrator.conftest import Screen
from tests.support.results import a_failed_row, a_row

BENCH = "orchestrator bench --model bert-tiny --profile quick --json --sort id"
SERVER = "orchestrator bench --model bert-tiny --scenario server --target-qps=20"
TRAINING = "orchestrator bench --model bert-tiny --mode training --precision bf16"
STARTUP = "orchestrator bench --model bert-tiny --mode startup --workers 8"
RUN = "orchestrator run plain.yaml"
OWN = "orchestrator run matrix.yaml"


def a_doubt(code: DoubtCode, remedy: RemedyCode, value: float | None = 9, **facts: str) -> Doubt:
    return Doubt(code, "C", value, remedy, facts)


SHORT = a_doubt("few_iterations", "raise_duration")
SCATTER = a_doubt("scatter", "longer_or_quieter", 0.4)
DEPENDENT = a_doubt("autocorrelation", "raise_min_duration_and_rounds")
BUSY = a_doubt("other_load", "stop_them", 0.3)
GREW = a_doubt("queue_grew", "lower_rate", None, most_qps="1.06")
HOPELESS = a_doubt("hopeless_rate", "raise_slo", 130.0, slo_ms="100")
ROUNDING = a_doubt("rounding", "mixed_precision", 0.2)
ROOM = a_doubt("concurrent_room", "fewer_workers", 3, requested="8")
FAILED = a_doubt("concurrent_failed", "fewer_workers", 8)
FAULTS = a_doubt("page_faults", "keep_memory", 0.31)
SINGLE = a_doubt("one_process", "calibrate_or_profile", 0.15)
BUDGET = a_doubt("few_rounds", "raise_budget", 2)
ROUNDS = "--set measure.rounds=2 --set measure.max_rounds=4"


@pytest.fixture(autouse=True)
def matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that says how long to measure, one that does not, and the allocator's settings."""
    text = (ROOT / "matrix.yaml").read_text("utf-8")
    (tmp_path / "matrix.yaml").write_text(text)
    (tmp_path / "plain.yaml").write_text(text.partition("\nmeasure:\n")[0])
    monkeypatch.chdir(tmp_path)
    for setting in KEEP_MEMORY.split():
        monkeypatch.setenv(*setting.split("=", 1))
    monkeypatch.setenv("HTTP_PROXY", "")


def the_report(profile: str, doubt: Doubt, command: str) -> RunReport:
    row = a_row("a", profile=profile, grade="C", doubts=[doubt])
    return RunReport("run-1", RESULTS_FOLDER / DATABASE_NAME, (row,), command=command)


@pytest.mark.parametrize(
    ("profile", "doubt", "command", "sentence", "offered"),
    [
        ("quick", SHORT, BENCH, "Measure longer:", "--model bert-tiny --profile standard"),
        ("standard", SHORT, RUN, "Measure longer:", "plain.yaml --profile audit"),
        (
            *("audit", SHORT, f"{RUN} --profile audit", "Raise measure.max_duration, then:"),
            "plain.yaml --profile audit --set measure.max_duration=2h",
        ),
        (
            *("quick", SHORT, f"{BENCH} --set=measure.max_duration=10s"),
            *(
                "Raise measure.max_duration, then:",
                "--model bert-tiny --profile quick --set measure.max_duration=20s",
            ),
        ),
        (
            *("quick", BUSY, f"{BENCH} --set measure.max_duration=5s", "Stop them, then:"),
            "--model bert-tiny --profile quick --set measure.max_duration=5s",
        ),
        (
            *("audit", DEPENDENT, f"{RUN} --profile audit"),
            "Raise measure.min_duration and measure.rounds, then:",
            "plain.yaml --profile audit --set measure.min_duration=20m --set measure.rounds=20",
        ),
        (
            *("quick", SINGLE, f"{BENCH} --rounds 1"),
            "Calibrate this host by `orchestrator doctor --calibrate`, or take --profile standard:",
            "--model bert-tiny --profile standard",
        ),
        (
            *("quick", GREW, SERVER, "Lower target_qps below 1.06, then:"),
            "--model bert-tiny --scenario server --target-qps 0.95 --profile standard",
        ),
        (
            *("audit", GREW, f"{RUN} --set axes.scenario=server --set target_qps=20"),
            "Lower target_qps below 1.06, then:",
            "plain.yaml --set axes.scenario=server --set axes.target_qps=0.95",
        ),
        (
            *(
                "quick",
                HOPELESS,
                SERVER.replace("target-qps=20", "slo-ms 100"),
                "Raise slo_ms, then:",
            ),
            "--model bert-tiny --scenario server --slo-ms 260 --profile standard",
        ),
        (
            *("audit", FAULTS, f"{BENCH} --iterations 9 --inherit-environ HTTP_PROXY"),
            f"Let glibc keep freed memory (`export {KEEP_MEMORY}`) and pass that on by"
            f" `{INHERIT_KEEPING}`, then:",
            "--model bert-tiny --profile quick --iterations 9 --inherit-environ HTTP_PROXY"
            f" {INHERIT_KEEPING}",
        ),
        (
            *("quick", ROUNDING, TRAINING + " --training-precision pure"),
            "Take training_precision mixed, then:",
            "--model bert-tiny --mode training --precision bf16 --training-precision mixed"
            " --profile standard",
        ),
        (
            *("quick", ROOM, STARTUP, "Set fewer `workers`, then:"),
            "--model bert-tiny --mode startup --workers 3 --profile standard",
        ),
        (
            *("quick", FAILED, STARTUP, "Set fewer `workers`, then:"),
            "--model bert-tiny --mode startup --workers 4 --profile standard",
        ),
        (
            *("audit", BUDGET, f"{RUN} --budget 20m --profile audit", "Raise --budget, then:"),
            "plain.yaml --profile audit --budget 40m",
        ),
        (
            *("quick", SHORT, OWN, "Raise measure.max_duration, then:"),
            "matrix.yaml --set measure.max_duration=20s",
        ),
        (
            *("quick", DEPENDENT, f"{OWN} --set measure.min_duration=8s"),
            "Raise measure.min_duration and measure.rounds, then:",
            "matrix.yaml --set measure.min_duration=16s --set measure.rounds=2"
            " --set measure.max_duration=16s --set measure.max_rounds=2",
        ),
        (
            *("quick", SINGLE, OWN),
            "Calibrate this host by `orchestrator doctor --calibrate`, or take --profile standard:",
            "matrix.yaml --profile standard --set measure.iterations=20"
            " --set measure.min_duration=30s --set measure.max_duration=5m",
        ),
        ("quick", SHORT, "orchestrator replay x", "Raise measure.max_duration.", None),
        (*("quick", a_doubt("steal", "own_host", 0.3), RUN, "Use a host of your own."), None),
    ],
)
def test_the_remedy_is_a_command_that_brings_it(
    profile: str,
    doubt: Doubt,
    command: str,
    sentence: str,
    offered: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = shlex.split(command)[1]
    remedy = find_remedy(the_report(profile, doubt, command))
    assert remedy == Remedy(sentence, offered and f"{name} {offered}")
    if offered:
        command_line()
        planned = [*shlex.split(f"{name} {offered}"), "--dry-run"]
        assert app(planned, standalone_mode=False) in (None, 0)
        assert "to run" in capsys.readouterr().out


@pytest.mark.parametrize("code", REMEDIES)
@pytest.mark.parametrize("profile", ["quick", "audit"])
def test_every_remedy_has_a_sentence_and_at_most_a_command_that_is_understood(
    code: RemedyCode, profile: str
) -> None:
    facts = {"most_qps": "0.0123", "slo_ms": "100"}
    for command in (BENCH, SERVER, f"{RUN} {ROUNDS}", OWN):
        remedy = find_remedy(the_report(profile, a_doubt("scatter", code, 0.5, **facts), command))
        assert remedy is not None
        assert remedy.sentence.endswith((":", "."))
        assert "…" not in remedy.sentence + (remedy.command or "")
        assert remedy.command is None or parse(shlex.split(remedy.command))


def why(screen: Screen, rows: Sequence[ResultRow], *, verbose: bool = False) -> list[str]:
    report = RunReport("run-1", Path(DATABASE_NAME), tuple(rows), command=BENCH)
    return screen.lines(partial(print_findings, verbose=verbose), RunsReport((report,)))


def graded(cell: str, grade: Grade, *doubts: Doubt) -> ResultRow:
    return a_row(cell, grade=grade, doubts=list(doubts))


LOAD = a_doubt("host_load", "stop_others", 4.5, cores="2")


def test_why_names_the_cause_that_explains_most_and_one_remedy(screen: Screen) -> None:
    rows = [
        graded("a", "C", SCATTER, LOAD, BUSY, DEPENDENT),
        graded("b", "C", DEPENDENT, BUSY, SHORT),
        graded("c", "C", SINGLE),
        a_failed_row("d", "timeout", "5 s"),
    ]
    _, failure, _, *lines = why(screen, rows)
    assert failure == "d: timeout: 5 s"
    assert lines == [
        "grade C: 3 of 3 cells: other processes used 30 % of the CPU time in 2 of these 3",
        "Stop them, then:",
        "  orchestrator bench --model bert-tiny --profile standard",
        "5 more findings, 3 of which it may explain:"
        " `orchestrator status run-1 --why --verbose --results .` lists each cell's",
    ]
    every = why(screen, rows, verbose=True)
    assert any(line.endswith("cv 40 %: measure longer, on a quieter machine") for line in every)
    assert len(every) == 1 + 2 + 6


def test_why_says_that_nothing_speaks_against_sound_numbers(screen: Screen) -> None:
    assert why(screen, [graded("a", "A")]) == ["run run-1", "nothing speaks against its numbers"]
