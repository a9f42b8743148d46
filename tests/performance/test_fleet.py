"""The measurements of a fleet: what they make of lines and records, and which sections they run."""

from pathlib import Path

import pytest

from performance.fleet.__main__ import main
from performance.fleet.figures import Figure
from performance.fleet.hosts import Line
from performance.fleet.makespans import first_job_s, job_periods, makespan_s, overhead_figures


def lines(host: str, job_s: float, first_s: float = 0.0) -> list[Line]:
    """The progress of a run of three jobs, each as long."""
    began = [Line(0.0, "3 cells on 1 host; about 2s")]
    jobs = [
        [
            Line(first_s + at * job_s, f"{host}fake-scripted-{at}-fp32-inference: 1 cell"),
            Line(first_s + at * job_s + 0.5, f"[{at + 1}/3] fake-a: 100 ms, done"),
        ]
        for at in range(3)
    ]
    return began + [line for job in jobs for line in job]


def test_progress_tells_periods_the_first_job_and_the_makespan() -> None:
    said = lines("alpha: ", job_s=2.0, first_s=3.0)
    assert job_periods(said) == [2.0, 2.0]
    assert first_job_s(said) == 3.0
    assert makespan_s(said) == 7.5


def test_a_transport_is_compared_with_the_same_jobs_here() -> None:
    runs = {
        "local": [lines("", 2.0)],
        "ssh": [lines("a: ", 2.4, 1)],
        "pipe": [lines("a: ", 3.0, 6)],
    }
    missed = {figure.name: figure.missed for figure in overhead_figures(runs)}
    assert {name for name, is_missed in missed.items() if is_missed} == {
        "pipe: added to a job",
        "pipe: until the first job on a host",
    }


def test_sections_are_run_by_name_and_a_missed_bar_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folders: list[Path] = []

    def section(value: float) -> "list[Figure]":
        return [Figure("a figure", value, "s", bar=1.0)]

    def good(folder: Path) -> list[Figure]:
        folders.append(folder)
        return section(0.5)

    sections = {"good": good, "bad": lambda _: section(2.0)}
    assert main(["good"], sections) == 0
    assert not folders[0].exists()
    assert main([], sections) == 1
    assert "MISSED" in capsys.readouterr().out
    assert main(["other"], sections) == 2
    assert "there are good, bad" in capsys.readouterr().out
