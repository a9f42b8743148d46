"""A regression is traced to the image that brought it, by replays in the images of the records."""

import random
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from queue import Queue
from typing import Any, ClassVar

import duckdb
import pytest

from orchestrator.backends.catalogue import LauncherName
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.commands.regress.answer import RegressionRequest
from orchestrator.commands.regress.bisect import (
    BisectRequest,
    Proposal,
    bisect_regressions,
    propose_bisection,
)
from orchestrator.commands.regress.bisection_words import bisection_commands, bisection_sheet
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.launchers.base import Exit
from orchestrator.launchers.registry import Note, Pinned
from orchestrator.running.folder import RunFolder
from orchestrator.screen.words.reasons import error_hint
from orchestrator.store.query.ask import query
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, ImageError, NothingToDo
from runner.contract.job import Job, Provenance
from runner.contract.record.files import save_record
from runner.contract.record.ids import MACHINE_FACTS
from runner.contract.record.record import Record
from runner.contract.rounds import save_round
from tests.support.fakes import KeptObserver, ScriptedLauncher, enter, finish
from tests.support.jobs import fake_cell
from tests.support.launches import launched
from tests.support.records import RECORDED_AT, a_round, record_for
from tests.support.runs import a_plan, a_run_folder
from tests.support.words import raises_words

CELLS = [fake_cell(size, backend="cpu", runtime="torch") for size in (1, 2)]
FAST_MS, SLOW_MS = 10.0, 12.0
GUILTY = 3
APART_MS = (-0.02, -0.01, 0.0, 0.01, 0.02)
RUNS = 5


def digest(number: int) -> str:
    return f"sha256:{str(number) * 64}"


def in_image(number: int, launcher: LauncherName = "docker") -> Provenance:
    return Provenance(
        launcher=launcher,
        image="accelmatrix-cpu:1" if launcher == "docker" else None,
        image_digest=digest(number) if launcher == "docker" else None,
        git_commit=str(number) * 40,
        orchestrator_version="0",
    )


def a_verdict(job: Job, cell: Cell, level_ms: float, **changes: Any) -> Record:
    """The record of five launches that are hardly apart."""
    level = round(level_ms * random.Random(f"{job.run_id} {cell.id}").gauss(1, 0.001), 3)
    timed = launched([level + apart for apart in APART_MS], batch_size=cell.batch_size)
    told = {"iterations", "rounds", "throughput", "durations_ns", "steady_time_s", "grade"}
    told |= {name for name in Record.model_fields if name.startswith(("latency", "round_"))}
    columns = {name: getattr(timed, name) for name in told}
    machine = {name: getattr(timed, name) for name in MACHINE_FACTS}
    return record_for(job, cell, **columns, **machine, proof="proven", **changes)


@dataclass
class Site:
    """A results folder with a run for each version, the last ones slower."""

    results: Path
    levels: Mapping[int, float]
    """Milliseconds by the number of the image, now."""

    @property
    def database(self) -> Path:
        return self.results / "benchmarks.duckdb"

    def request(self, baseline: str = "run-0", run: str = f"run-{RUNS - 1}") -> BisectRequest:
        judged = RegressionRequest(SelectionRequest(self.database), baseline, run)
        return BisectRequest(judged, self.results, "orchestrator regress")

    def go(self, request: BisectRequest | None = None) -> tuple[Proposal, list[str], list[str]]:
        """The end of a search, the images that were measured, and what was told."""
        images: list[str] = []
        observer = KeptObserver()

        def make(name: LauncherName, note: Note, pinned: Collection[Pinned]) -> "InImage":
            (image,) = pinned
            return InImage(self.levels, image, images)

        return bisect_regressions(request or self.request(), observer, make), images, observer.notes


class InImage(ScriptedLauncher):
    """A launcher whose jobs take as long as their image makes them."""

    name: ClassVar[LauncherName] = "docker"

    def __init__(self, levels: Mapping[int, float], pinned: Pinned, images: list[str]) -> None:
        super().__init__(self._measures)
        self._number = int(pinned.digest[-1])
        self._levels = levels
        self._images = images

    def prepare(self, backend: object) -> Provenance:
        del backend
        if self._number not in self._levels:
            raise ImageError(f"the engine holds no image with the digest {digest(self._number)}")
        return in_image(self._number)

    def _measures(self, job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        enter(lines, "load")
        for cell in job.cells:
            if job.round < job.measure.rounds:
                save_round(a_round(), out, cell, job.round)
                continue
            self._images.append(str(self._number))
            save_record(a_verdict(job, cell, self._levels[self._number]), out)
        return finish(lines)


AS_RECORDED = {number: SLOW_MS if number >= GUILTY else FAST_MS for number in range(RUNS)}


def in_containers(folder: RunFolder) -> RunFolder:
    """The run's folder, as if docker had launched its jobs."""
    options = replace(folder.run.options, launcher="docker")
    run = folder.run.model_copy(update={"options": options})
    (folder.path / "run.json").write_text(run.model_dump_json())
    return RunFolder.open(folder.path.parent, run.run_id)


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one run for each image; nobody changes them."""
    results = tmp_path_factory.mktemp("bisected") / "results"
    for number in range(RUNS):
        folder = in_containers(a_run_folder(results, a_plan(CELLS), f"run-{number}"))
        level = SLOW_MS if number >= GUILTY else FAST_MS
        for cell in folder.cells:
            job = folder.run.job(folder.cells, in_image(number))
            when = RECORDED_AT + timedelta(hours=number)
            folder.save(a_verdict(job, cell, level * cell.batch_size, recorded_at=when))
    merge_paths([results], results / "benchmarks.duckdb", scratch=True)
    return results


@pytest.fixture
def site(merged: Path, tmp_path: Path) -> Site:
    return Site(Path(shutil.copytree(merged, tmp_path / "results")), AS_RECORDED)


def suspects(proposal: Proposal) -> list[str]:
    (proposed,) = proposal.cases
    return [version.run_id for version in proposed.case.bisection.suspects]


def sentences(proposal: Proposal) -> str:
    (table,) = bisection_sheet(proposal, "table").tables
    return "\n".join(table.notes)


def test_what_is_recorded_proposes_what_to_measure(site: Site) -> None:
    """Both cells became slower between the same images: one search, by one of them."""
    proposal = propose_bisection(site.request())
    (proposed,) = proposal.cases
    bisection = proposed.case.bisection
    assert [version.name for version in bisection.versions] == [digest(n) for n in range(RUNS)]
    assert bisection.turns == {GUILTY - 1: 1, GUILTY: 2}
    assert (len(proposed.case.beside), proposal.exit_code) == (1, 7)
    assert (proposed.original.job.measure.rounds, proposed.original.job.purpose) == (5, "time")
    assert proposed.estimate_s == 2 * proposed.replay_s > 0
    text = sentences(proposal)
    assert (
        f"By the recorded results it came with run run-{GUILTY}, image {str(GUILTY) * 12}" in text
    )
    assert "1 more cell became worse, perhaps by the same version" in text
    assert bisection_commands(proposal) == ("orchestrator regress --go",)
    assert query(site.database, "FROM benchmark_runs").num_rows == RUNS


@pytest.mark.slow
def test_the_guilty_image_is_found_and_named_with_what_changed_there(site: Site) -> None:
    before = query(site.database, "FROM benchmark_results").num_rows
    proposal, images, notes = site.go()
    assert (suspects(proposal), images) == ([f"run-{GUILTY}"], ["2", "3"])
    assert notes[0].startswith("up to 2 measurements, about ")
    text = sentences(proposal)
    assert f"The change came with run run-{GUILTY}, image" in text
    assert f"What changed there: image {'2' * 12}, now {'3' * 12}; commit" in text
    assert query(site.database, "FROM benchmark_results").num_rows == before
    again, images, _ = site.go()
    assert (suspects(again), images) == ([f"run-{GUILTY}"], [])
    others = merge_paths([site.results], site.database, scratch=True)
    assert others.inserted == 0, "runs of bisections are not merged with the others"


@pytest.mark.slow
def test_what_the_machine_brought_no_image_is_blamed_for(site: Site) -> None:
    site.levels = dict.fromkeys(range(RUNS), FAST_MS)
    proposal, images, _ = site.go()
    assert images == ["2", "3", "0", "4"]
    assert "So no version brought it." in sentences(proposal)


def test_an_image_of_an_end_that_is_gone_ends_it_before_anything_is_measured(site: Site) -> None:
    site.levels = {n: level for n, level in AS_RECORDED.items() if n != GUILTY - 1}
    with raises_words(ImageError, match=f"no image with the digest {digest(GUILTY - 1)}"):
        site.go()
    assert not (site.results / "bisections").exists()


@pytest.mark.slow
def test_processes_leave_no_image_and_their_commits_are_named(site: Site) -> None:
    with duckdb.connect(site.database) as connection:
        connection.execute("UPDATE environments SET image = NULL, image_digest = NULL")
        connection.execute("UPDATE benchmark_results SET launcher = 'process'")
        connection.execute("UPDATE benchmark_results SET git_commit = repeat(run_id[5:], 40)")
    proposal = propose_bisection(site.request())
    commit, result = str(GUILTY - 1) * 40, f"run-{GUILTY - 1}/{CELLS[0].id}"
    checkout, replay, question = bisection_commands(proposal)
    assert (checkout, question) == (f"git checkout {commit}", "orchestrator regress")
    assert replay.startswith(f"orchestrator replay {result[:12]}")
    with raises_words(ImageError, match="no image holds their software") as caught:
        site.go()
    assert f"git checkout {commit}" in str(error_hint(caught.value))


NOTHING: dict[str, tuple[str, str, str, str]] = {
    "no regression": ("run-0", "run-1", "true", "nothing became worse from run-0 to run-1: 2 no"),
    "one image": (
        "run-0",
        "run-4",
        f"UPDATE environments SET image_digest = '{digest(0)}'",
        "both ends have the same image",
    ),
}


@pytest.mark.representatives(1)
@pytest.mark.parametrize(("baseline", "run", "sql", "words"), NOTHING.values(), ids=NOTHING)
def test_without_anything_to_bisect_the_reason_is_told(
    site: Site, baseline: str, run: str, sql: str, words: str
) -> None:
    if sql != "true":
        with duckdb.connect(site.database) as connection:
            connection.execute(sql)
    with pytest.raises(NothingToDo, match=words) as caught:
        propose_bisection(site.request(baseline, run))
    assert isinstance(caught.value, BenchError)
    assert caught.value.exit_code == 3
