"""Two runs whose launches take turns: order, equal rounds, failures, interruption, what is kept."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from statistics import median
from typing import Any

import pytest

from orchestrator.launchers.base import Exit
from orchestrator.launchers.registry import Pinned
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.folder import RunFolder
from orchestrator.running.interleaved import (
    BaselineVersion,
    BothFolders,
    BothOutcomes,
    InterleavedExecution,
    create_both,
)
from orchestrator.running.options import RunOptions
from runner.contract.cell import Cell
from runner.contract.errors import EngineUnavailable, NothingToDo, UsageError
from runner.contract.job import Job
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from runner.contract.rounds import read_rounds, save_round
from tests.support.fakes import KeptObserver, Script, ScriptedLauncher, enter, finish
from tests.support.jobs import fake_cell
from tests.support.records import a_round, record_for
from tests.support.runs import SEED, a_plan
from tests.support.words import doubt_words, words_of

pytestmark = pytest.mark.usefixtures("unmerged")

IMAGES = (Pinned("fake", "accelmatrix-cpu:1", f"sha256:{'1' * 64}"),)
KNOWN = {"recorded_at", "job", "model_spec", "status"}
LOST = Exit(137, out_of_memory=False, log="")
Takes = Callable[[Cell, int], float]
"""Milliseconds of a cell in a round."""


def duration(side: str, slower: float = 0.0, spread: float = 0.002) -> Takes:
    """A duration that alternates about its level: the run's is longer by a share."""
    level = 10.0 * (1 + slower if side == "run" else 1)
    return lambda cell, round_: level * (1 + spread * (-1) ** (round_ + (side == "run")))


class Turns:
    """Two runs with scripted launchers that write down in which order they launch."""

    def __init__(self, results: Path, plan: Plan | None = None, threshold: float = 0.03) -> None:
        self.results = results
        self.database = results.parent / "benchmarks.duckdb"
        self.observer = KeptObserver()
        self.order: list[tuple[str, int]] = []
        made = plan or a_plan([fake_cell(1)])
        paired = {name: m.of_rounds(10) for name, m in made.measure.items()}
        measure = {name: m.model_copy(update={"max_rounds": 28}) for name, m in paired.items()}
        self.folders = create_both(
            made.model_copy(update={"measure": measure}),
            RunSource(command="orchestrator run"),
            results,
            RunOptions(launcher="process", scratch=True, seed=SEED, database=self.database),
            BaselineVersion(IMAGES, cells=()),
            threshold,
        )

    def script(
        self, side: str, takes: Takes, then: Script | None = None, samples: int = 1
    ) -> Script:
        """A launch that measures what it is given, so many samples a query, or plays something."""

        def measures(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
            self.order.append((side, job.round))
            if then is not None:
                return then(job, out, lines)
            enter(lines, "load")
            for cell in job.cells:
                measure(job, cell, out, takes(cell, job.round), lines, samples)
            return finish(lines)

        return measures

    def run(
        self,
        run: Script | None = None,
        baseline: Script | None = None,
        *,
        slower: float = 0.0,
        **options: Any,
    ) -> BothOutcomes:
        """Measure what is left, with these launches or with good ones."""
        launchers = tuple(
            ScriptedLauncher(script or self.script(side, duration(side, slower)))
            for side, script in (("run", run), ("baseline", baseline))
        )
        chosen = RunOptions(database=self.database, **options)
        execution = InterleavedExecution(self.folders, launchers, self.observer, chosen)  # type: ignore[arg-type]
        return execution.run()

    def reopened(self) -> "Turns":
        """The same two runs, opened anew."""
        folders = BothFolders.open(self.results, RunFolder.open(self.results, "last"))
        assert folders is not None
        self.folders = folders
        self.order = []
        return self

    @property
    def records(self) -> list[Record]:
        """Those of the baseline, and then those of the run."""
        sides = (self.folders.baseline, self.folders.run)
        return [folder.sound_records()[cell.id] for folder in sides for cell in folder.cells]

    @property
    def ends(self) -> list[tuple[str, int | None]]:
        """Status and rounds of each of them."""
        return [(record.status, record.rounds) for record in self.records]


def measure(
    job: Job, cell: Cell, out: Path, milliseconds: float, lines: "Queue[str | None]", samples: int
) -> None:
    """Leave what the runner leaves of a cell in a round, by the milliseconds of a sample."""
    result = a_round([round(samples * milliseconds * 1e6)] * 3, samples=3 * samples)
    rounds = [*read_rounds(out, cell, job.round - 1), result]
    durations = [value for one in rounds for value in one.durations_ns]
    record = record_for(
        *(job, cell),
        rounds=len(rounds),
        round_iterations=[3] * len(rounds),
        round_medians=[median(one.durations_ns) / 1e9 for one in rounds],
        durations_ns=durations,
        grade="A",
    )
    if job.round == job.measure.most_rounds:
        save_record(record, out)
        lines.put(json.dumps({"event": "recorded", "status": "ok", "cell_id": cell.id}))
        return
    columns = record.model_dump(mode="json", exclude_none=True, exclude={"durations_ns", *KNOWN})
    save_round(result.model_copy(update={"so_far": columns}), out, cell, job.round)
    lines.put(json.dumps({"event": "visited", "cell_id": cell.id}))


def dies(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
    """A launch that dies in its first cell."""
    enter(lines, "load")
    enter(lines, "steady", job.cells[0])
    lines.put(None)
    return LOST


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path / "results")


ABBA = ["run", "baseline", "baseline", "run"]


def test_launches_alternate_in_mirrored_order_and_leave_equal_rounds(turns: Turns) -> None:
    assert turns.run().exit_code == 0
    assert [side for side, _ in turns.order] == ABBA * 5
    assert [number for _, number in turns.order] == [
        n for pair in range(1, 11) for n in (pair, pair)
    ]
    assert turns.ends == [("ok", 10), ("ok", 10)]
    baseline, run = turns.records
    assert (baseline.interleaved_with, run.interleaved_with) == (None, baseline.run_id)
    assert run.run_id > baseline.run_id
    assert run.recorded_at > baseline.recorded_at


@pytest.mark.representatives(2)
@pytest.mark.parametrize("found", [1, 2])
@pytest.mark.parametrize(
    ("slower", "spread", "pairs"), [(0.10, 0.002, 10), (0.03, 0.010, 16), (0.03, 0.06, 28)]
)
def test_pairs_are_added_on_both_sides_until_they_decide(
    turns: Turns, slower: float, spread: float, pairs: int, found: int
) -> None:
    """Whatever batch the run found, as offline does."""
    run, baseline = (duration(side, slower, spread) for side in ("run", "baseline"))
    turns.run(turns.script("run", run, samples=found), turns.script("baseline", baseline))
    assert turns.ends == [("ok", pairs)] * 2
    assert len(turns.order) == 2 * pairs


@pytest.mark.slow
def test_a_cell_that_is_decided_leaves_the_later_pairs_to_the_others(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "results", a_plan([fake_cell(1), fake_cell(2)]))
    noisy = {1: 0.002, 2: 0.06}

    def takes(side: str) -> Takes:
        return lambda cell, round_: duration(side, 0.03, noisy[cell.batch_size])(cell, round_)

    turns.run(*(turns.script(side, takes(side)) for side in ("run", "baseline")))
    assert [rounds for _, rounds in turns.ends] == [10, 28, 10, 28]
    assert Counter(turns.order)["run", 10] == Counter(turns.order)["baseline", 10] == 2


@pytest.mark.parametrize("failing", ["run", "baseline"])
def test_what_fails_on_one_side_ends_on_both_with_what_it_has(turns: Turns, failing: str) -> None:
    def fails_in(round_: int, side: str) -> Script:
        good, bad = turns.script(side, duration(side)), turns.script(side, duration(side), dies)
        return lambda job, out, lines: (bad if job.round == round_ else good)(job, out, lines)

    scripts = {side: turns.script(side, duration(side)) for side in ("run", "baseline")}
    scripts[failing] = fails_in(5, failing)
    assert turns.run(scripts["run"], scripts["baseline"]).exit_code == 1
    baseline, run = turns.records
    ended, beside = (run, baseline) if failing == "run" else (baseline, run)
    assert (ended.status, beside.status) == ("lost", "ok")
    assert beside.rounds == (5 if failing == "baseline" else 4)
    reason = doubt_words(vars(beside))[0]
    assert re.match(r"[45] of 10 rounds before the .* ended as lost", reason)
    assert max(number for _, number in turns.order) == 5


def test_a_failure_in_the_first_pair_leaves_the_other_side_unlaunched(turns: Turns) -> None:
    turns.run(run=turns.script("run", duration("run"), dies))
    baseline, run = turns.records
    assert (run.status, baseline.status) == ("lost", "unavailable")
    assert words_of(baseline.ending) == "not started: the launch compared with it ended as lost"
    assert turns.order == [("run", 1)]


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C, or worse."""


@pytest.mark.parametrize(("side", "round_", "again"), [("baseline", 5, 5), ("run", 10, 10)])
def test_a_pair_that_was_cut_in_two_is_measured_anew(
    turns: Turns, side: str, round_: int, again: int
) -> None:
    """In these pairs the named side comes second, so that its fellow is measured already."""

    def stops(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        if job.round == round_:
            raise Interrupted
        return turns.script(side, duration(side))(job, out, lines)

    with pytest.raises(Interrupted):
        turns.run(**{side: stops})
    assert turns.order[-1] == ("baseline" if side == "run" else "run", round_)
    assert turns.reopened().run().exit_code == 0
    assert [number for _, number in turns.order][:2] == [again, again]
    assert turns.ends == [("ok", 10)] * 2


def test_a_lost_launch_is_taken_up_again_as_a_pair(turns: Turns) -> None:
    def dies_in_three(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        then = dies if job.round == 3 else None
        return turns.script("baseline", duration("baseline"), then)(job, out, lines)

    turns.run(baseline=dies_in_three)
    assert [status for status, _ in turns.ends] == ["lost", "ok"]
    turns.reopened().run()
    assert turns.order[:2] == [("run", 3), ("baseline", 3)]
    assert turns.ends == [("ok", 10)] * 2


def test_runs_that_have_all_their_verdicts_are_refused_by_either_id(turns: Turns) -> None:
    turns.run()
    for name in ("run", "baseline"):
        run_id = getattr(turns.folders, name).run.run_id
        both = BothFolders.open(turns.results, RunFolder.open(turns.results, run_id))
        assert both is not None
        assert both.run.run == turns.folders.run.run
        with pytest.raises(NothingToDo, match="and its baseline"):
            both.require_left(RunSource())
    with pytest.raises(UsageError, match="differs from the matrix"):
        both.require_left(RunSource(matrix="version: 1\n", matrix_path=Path("matrix.yaml")))


def test_a_kill_between_both_folders_leaves_nothing_half(turns: Turns) -> None:
    folder = turns.folders.baseline.path
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    assert turns.reopened().run().exit_code == 0
    assert turns.ends == [("ok", 10)] * 2


def test_a_spent_budget_ends_both_with_equal_rounds(turns: Turns) -> None:
    turns.run(budget_s=0.0)
    assert turns.order == []
    assert {record.status for record in turns.records} == {"unavailable"}
    assert {words_of(record.ending) for record in turns.records} == {
        "not started: the budget of 0s was spent"
    }


def test_without_an_engine_both_sides_say_so(turns: Turns) -> None:
    def gone(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        raise EngineUnavailable("the engine is down")

    launchers = (ScriptedLauncher(gone), ScriptedLauncher(gone))
    for launcher in launchers:
        launcher.refusals["fake"] = EngineUnavailable("the engine is down", hint="start it")
    options = RunOptions(database=turns.database)
    outcome = InterleavedExecution(turns.folders, launchers, turns.observer, options).run()
    assert outcome.exit_code == EngineUnavailable.exit_code
    assert {record.status for record in turns.records} == {"unavailable"}


def test_the_cells_are_counted_once_and_the_baseline_is_named(turns: Turns) -> None:
    turns.run()
    assert len(turns.observer.ended) == 1
    ids = Counter(job.id for job in turns.observer.jobs)
    assert sorted(ids.values()) == [10, 10]
    assert [name for name in ids if name.endswith(" of the baseline")]
