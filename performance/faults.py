"""Faults that were tried, as one Markdown table: `python -m performance faults [PART ...]`.

A row is a table of tests, of which the suites execute a few, or a measurement with a limit of its
own. `--write` puts the table into docs/faults.md, and the border's rows into docs/security.md. The
whole takes about half an hour.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import psutil

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
HEADINGS = ("tried", "how many", "result", "figure", "limit")
_FIGURE = re.compile(r"^[^{ ].*\d (s|ms|MB|GB|%)(?!\w)")
"""A line with a number and its unit, and no JSON."""
ONE_VERDICT = "one verdict per planned cell, nothing left"


class Row(NamedTuple):
    """A row of the table, as text, and whether the limit holds."""

    tried: str
    count: str
    result: str
    figure: str
    limit: str
    holds: bool


@dataclass(frozen=True)
class Suite:
    """A part that tests try."""

    tried: str
    tests: tuple[str, ...]
    """Files and functions of `tests/`."""
    limit: str = ONE_VERDICT

    def row(self) -> Row:
        """Execute all cases, also those that no suite holds."""
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            options = ["-q", "-p", "no:cacheprovider", "-m", "", f"--junitxml={report.name}"]
            paths = [str(ROOT / "tests" / test) for test in self.tests]
            done = _execute("-m", "pytest", *options, *paths)
            cases = list(ET.parse(report.name).iter("testcase")) if done.returncode < 2 else []
        broken = [
            case.get("name", "?")
            for case in cases
            if any(case.find(kind) is not None for kind in ("failure", "error"))
        ]
        skipped = sum(case.find("skipped") is not None for case in cases)
        holds = bool(cases) and not broken and not skipped
        slowest = max((float(case.get("time", 0)) for case in cases), default=0.0)
        return Row(
            self.tried,
            str(len(cases)),
            _result(len(cases), broken, skipped),
            f"{slowest:.0f} s at most",
            self.limit,
            holds,
        )


def _result(cases: int, broken: Sequence[str], skipped: int) -> str:
    if not cases:
        return "could not be tried"
    if broken:
        return f"{len(broken)} did not hold: {', '.join(broken)}"
    return f"{skipped} could not be tried" if skipped else "all held"


@dataclass(frozen=True)
class Measurement:
    """A part that a program of this folder measures; it ends with 1 if its limit is broken."""

    tried: str
    module: str
    count: str
    limit: str
    arguments: tuple[str, ...] = ()

    def row(self) -> Row:
        """Measure it."""
        done = _execute("-m", f"performance.{self.module}", *self.arguments, stdout=subprocess.PIPE)
        lines = [line for line in (done.stdout or "").splitlines() if line.strip()]
        figure = "; ".join(" ".join(line.split()) for line in lines if _FIGURE.search(line))
        result = "broken" if done.returncode else "held"
        return Row(self.tried, self.count, result, figure, self.limit, not done.returncode)


def _execute(*arguments: str, stdout: int | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # What is shown meanwhile goes to stderr: stdout is the table's.
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=stdout or sys.stderr,
        text=True,
        check=False,
    )


RUN, MERGE = "faults/test_killed_run.py", "faults/test_killed_merge.py"
INTERFERENCE, DISK = "faults/test_interference.py", "faults/test_full_disk.py"
FAILURES, SURVIVES = "e2e/test_failures.py", "orchestrator/store/merge/test_merge_survives.py"
PARTS: Mapping[str, Suite | Measurement] = {
    "killed-run": Suite(
        "`kill -9` of the orchestrator at a moment of a run, by process",
        (f"{RUN}::test_a_killed_run_is_finished",),
    ),
    "killed-containers": Suite(
        "the same with containers", (f"{RUN}::test_a_killed_run_of_containers_is_finished",)
    ),
    "killed-rounds": Suite(
        "`kill -9` among rounds and while traces are written",
        (
            f"{RUN}::test_a_run_killed_among_its_rounds_is_finished",
            f"{RUN}::test_a_run_killed_while_tracing_is_finished",
        ),
    ),
    "killed-artifacts": Suite(
        "`kill -9` inside an export, a reference, an image's build",
        ("faults/test_killed_artifacts.py",),
    ),
    "killed-merge": Suite(
        "`kill -9` at a moment of a merge, an upgrade, a bundle's merge",
        (MERGE,),
        "the merge that follows leaves what one merge would have",
    ),
    "engine": Suite(
        "engine restarted in mid-run; `docker kill`, `rm --force`, `stop`",
        ("faults/test_engine.py", "e2e/test_engine.py"),
    ),
    "full-disk": Suite(
        "no space from the n-th write on, in a run and in a merge; a file system that fills up",
        (DISK, f"{INTERFERENCE}::test_a_run_on_a_disk_that_fills_up_is_finished"),
    ),
    "interference": Suite(
        "signals; locks, database, jobs, records, the run's folder deleted or cut short in mid-run",
        (
            f"{INTERFERENCE}::test_a_run_that_somebody_meddles_with_is_finished",
            f"{INTERFERENCE}::test_a_run_whose_folder_is_deleted_says_so_and_leaves_nothing",
            f"{FAILURES}::test_interruption_stops_at_once_and_resuming_finishes_the_rest",
        ),
    ),
    "read-only": Suite(
        "results that may only be read, by an unprivileged user",
        (f"{INTERFERENCE}::test_results_that_may_only_be_read_stay_as_they_are",),
        "exit code 6, nothing changed; then finished",
    ),
    "clock": Suite("a clock that is set back an hour", ("faults/test_clock.py",)),
    "cells": Suite(
        "a cell that fills memory, dies, exits, raises or hangs",
        (f"{FAILURES}::test_a_cell_that_fails_gets_its_verdict_and_the_others_are_measured",),
        "its verdict, the others measured",
    ),
    "browsers": Suite(
        "a browser that crashes, hangs, loses its GPU device or has no isolation; `kill -9` of its"
        " runner",
        ("runner/backends/onnxruntime_web/test_faults.py",),
        "its verdict, the next cell measured, no process and no profile left",
    ),
    "browser-image": Suite(
        "browsers in their image, by any user and without rights or network; their example matrix",
        ("images/test_browser_image.py", "docs/test_browser_example.py"),
        "each cell proven and correct, with its memory; no container left",
    ),
    "launchers": Suite(
        "failures and rounds, each by processes and by containers", (FAILURES, "e2e/test_rounds.py")
    ),
    "streams": Suite(
        "`/dev/full` and closed pipes behind stdout and stderr",
        ("orchestrator/commands/program/test_streams.py",),
        "one clear error, or none; measuring goes on",
    ),
    "store": Suite(
        "a database between two writers, a reader, a full disk, without permissions",
        (SURVIVES,),
        "all or nothing",
    ),
    "hostile": Suite(
        "hostile images and launchers: what a job can write, print and claim",
        ("hostile",),
        "one verdict per planned cell within 10 s of the limit, others' results untouched",
    ),
    "parquet": Measurement(
        "Parquet of 78 kB that holds 10^8 values", "hostile_parquet", "60", "refused in 2 s, 300 MB"
    ),
    "flood": Measurement(
        "1 GiB on stdout without a line end", "output_flood", "1", "200 MB, 20 % of a core"
    ),
    "sabotage": Suite(
        "models with one broken part, and training steps, in each precision",
        ("performance/test_sabotage.py", "runner/correctness/test_broken_steps.py"),
        "wrong by the correctness check; honest ones right",
    ),
    "load": Suite(
        "processes that merge into one database and ask it for a minute",
        ("orchestrator/store/test_store.py",),
        "no failure, no row missing",
    ),
    "files": Measurement("a merge of record files", "merge_files", "5,000", "12 s, 500 MB"),
    "growth": Measurement("fake cells in one run", "run_growth", "2,000", "grows by 50 MB"),
    "plan": Measurement(
        "planned cells", "plan_matrix", "1,000,000", "1 GB, with progress", ("1000000",)
    ),
}

BORDER = ("hostile", "parquet", "flood")
"""Parts that docs/security.md shows as well."""


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *(row[:5] for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def write(page: Path, text: str) -> None:
    """Put the text between the page's marks."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


def main(arguments: Sequence[str] | None = None, docs: Path = ROOT / "docs") -> int:
    """Try the named parts, or all; 1 if one of them does not hold."""
    parser = argparse.ArgumentParser(prog="performance faults", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"{', '.join(unknown)}: not among {', '.join(PARTS)}")
    began, rows = time.monotonic(), {}
    for name in options.parts or PARTS:
        print(f"== {name}", file=sys.stderr, flush=True)
        rows[name] = PARTS[name].row()
    minutes = (time.monotonic() - began) / 60
    command = " ".join(["python -m performance faults", *options.parts])
    date = datetime.now(UTC).date()
    machine = f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB"
    heading = f"{date}, {machine}: `{command}`, {minutes:.0f} minutes."
    text = f"{heading}\n\n{table([*rows.values()])}"
    print(text)
    if options.write:
        border = table([row for name, row in rows.items() if name in BORDER])
        write(docs / "faults.md", text)
        write(docs / "security.md", f"{heading}\n\n{border}")
    return 0 if all(row.holds for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
