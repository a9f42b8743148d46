"""A machine as a runner of a CI: what it lacks, and by which labels it is found."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.commands.setup.runner_machine import RunnerMachine, check_runner
from orchestrator.launchers.diagnosis import Diagnosis
from runner.contract.host import FrequencyPolicy

GOOD = RunnerMachine(
    clock=FrequencyPolicy("performance"),
    programs=("git", "tar", "python3"),
    free_bytes=100 << 30,
    load=0.0,
    listeners=1,
    user_id=1000,
)


def diagnosed(backend: Any, *, launcher: Any = "docker", **facts: Any) -> Diagnosis:
    return Diagnosis(backend, launcher, **{"runs": True, "reason": "", "remedy": None, **facts},
                     support_class=1)  # fmt: skip


CPU = diagnosed("cpu")
ROWS = [
    CPU,
    diagnosed("cpu", launcher="process"),
    diagnosed("openvino"),
    diagnosed("cuda", runs=False),
    diagnosed("qnn", simulated=True),
]


def test_a_good_runner_is_found_by_the_labels_of_what_runs() -> None:
    report = check_runner(GOOD, ROWS)
    assert report.is_ready
    assert [check.name for check in report.checks if not check.ok] == []
    assert (report.backends, report.labels) == (["cpu", "openvino"], ["cpu", "openvino"])


@pytest.mark.parametrize(
    ("change", "name", "ready", "words"),
    [
        ({"programs": ("tar",)}, "programs", False, "missing: git, python3"),
        ({"free_bytes": 1 << 30}, "disk", False, "1GiB free"),
        ({"user_id": 0}, "user", False, "root"),
        ({"listeners": 2}, "runners", True, "2 registered here"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    change: dict[str, Any], name: str, ready: bool, words: str
) -> None:
    report = check_runner(replace(GOOD, **change), ROWS)
    (check,) = [check for check in report.checks if not check.ok]
    assert (check.name, check.message, report.is_ready) == (name, words, ready)
    assert check.remedy


@pytest.mark.parametrize(
    ("rows", "missing", "ready"),
    [
        ([], ["backends", "containers"], False),
        ([diagnosed("cpu", launcher="process")], ["containers"], True),
    ],
)
def test_without_an_engine_jobs_are_processes_and_without_a_backend_there_are_none(
    rows: list[Diagnosis], missing: list[str], ready: bool
) -> None:
    report = check_runner(GOOD, rows)
    assert [check.name for check in report.checks if not check.ok] == missing
    assert report.is_ready is ready
