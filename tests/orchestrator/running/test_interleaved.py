"""Two runs side by side: rounds of both, failures, interruption, outages, what is kept."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.launchers.registry import Pinned
from orchestrator.planning.groups import LOOKS, group_of_versions
from orchestrator.planning.plan import RunSource
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
from runner.contract.errors import EngineUnavailable, ImageError, NothingToDo, UsageError
from runner.contract.record.record import Record
from tests.support.fakes import KeptObserver
from tests.support.jobs import FAST, fake_cell
from tests.support.runs import SEED, a_plan
from tests.support.turns import GONE, KILLED, Fault, Interrupted, Takes, TakingTurns
from tests.support.words import words_of

pytestmark = pytest.mark.usefixtures("unmerged")

IMAGES = (Pinned("fake", "accelmatrix-cpu:1", f"sha256:{'1' * 64}"),)
SIDES = ("run", "baseline")
FIRST, SECOND, LAST = LOOKS


def duration(side: str, slower: float = 0.1, spread: float = 0.002) -> Takes:
    """A duration that alternates about its level: the run's is longer by a share."""
    level = 10.0 * (1 + slower if side == "run" else 1)
    return lambda cell, round_: level * (1 + spread * (-1) ** (round_ + (side == "run")))


class Pair:
    """Two runs with scripted launchers that write down in which order they launch."""

    def __init__(
        self,
        results: Path,
        cells: Sequence[Cell] = (fake_cell(1),),
        *,
        together: bool = True,
        threshold: float = 0.03,
    ) -> None:
        self.results = results
        self.database = results.parent / "benchmarks.duckdb"
        self.observer = KeptObserver()
        self.log: list[tuple[str, str, int]] = []
        group = group_of_versions(cells, 1, FAST, together=together)
        self.folders = create_both(
            a_plan(cells).model_copy(update={"groups": (group,)}),
            RunSource(command="orchestrator run"),
            results,
            RunOptions(launcher="process", scratch=True, seed=SEED, database=self.database),
            BaselineVersion(IMAGES, cells=()),
            threshold,
        )

    def launcher(self, side: str, takes: Takes | None = None, **changes: Any) -> TakingTurns:
        return TakingTurns(takes or duration(side), side, log=self.log, **changes)

    def run(
        self, run: TakingTurns | None = None, baseline: TakingTurns | None = None, **options: Any
    ) -> BothOutcomes:
        """Measure what is left, with these launches or with good ones."""
        launchers = (run or self.launcher("run"), baseline or self.launcher("baseline"))
        chosen = RunOptions(database=self.database, **options)
        execution = InterleavedExecution(self.folders, launchers, self.observer, chosen)
        try:
            return execution.run()
        finally:
            assert [launcher.running for launcher in launchers] == [0, 0]

    def reopened(self) -> "Pair":
        """The same two runs, opened anew."""
        folders = BothFolders.open(self.results, RunFolder.open(self.results, "last"))
        assert folders is not None
        self.folders = folders
        self.log.clear()
        return self

    @property
    def rounds(self) -> list[tuple[str, int]]:
        """The launches, in order."""
        return [(name, round_) for name, what, round_ in self.log if what == "launched"]

    @property
    def records(self) -> list[Record]:
        """Those of the baseline, and then those of the run."""
        sides = (self.folders.baseline, self.folders.run)
        return [folder.sound_records()[cell.id] for folder in sides for cell in folder.cells]

    @property
    def ends(self) -> list[tuple[str, int | None]]:
        """Status and rounds of each of them."""
        return [(record.status, record.rounds) for record in self.records]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path / "results")


def both(*rounds: int) -> list[tuple[str, int]]:
    """The launches of these rounds, sorted."""
    return sorted((side, round_) for side in SIDES for round_ in rounds)


@pytest.mark.parametrize("together", [True, False])
def test_both_are_launched_in_each_round_and_leave_equal_rounds(
    tmp_path: Path, together: bool
) -> None:
    pair = Pair(tmp_path / "results", together=together)
    assert pair.run().exit_code == 0
    assert sorted(pair.rounds) == both(*range(1, FIRST + 1))
    assert [number for _, number in pair.rounds] == sorted(number for _, number in pair.rounds)
    assert len({side for side, _ in pair.rounds[::2]}) == 2, "the order of start is random"
    assert pair.ends == [("ok", FIRST), ("ok", FIRST)]
    baseline, run = pair.records
    assert (baseline.interleaved_with, run.interleaved_with) == (None, baseline.run_id)
    assert baseline.side_by_side == run.side_by_side == f"{run.run_id}.g1"
    assert baseline.looks == run.looks == [*LOOKS]
    assert run.run_id > baseline.run_id
    assert run.recorded_at > baseline.recorded_at


@pytest.mark.representatives(2)
@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize(
    ("slower", "spread", "rounds"),
    [(0.10, 0.002, FIRST), (0.03, 0.0001, SECOND), (0.10, 0.045, SECOND), (0.03, 0.06, LAST)],
)
def test_rounds_are_added_on_both_sides_until_they_decide(
    pair: Pair, slower: float, spread: float, rounds: int, samples: int
) -> None:
    """Whatever batch the run found, as offline does."""
    takes = {side: duration(side, slower, spread) for side in SIDES}
    pair.run(
        pair.launcher("run", takes["run"], samples=samples),
        pair.launcher("baseline", takes["baseline"]),
    )
    assert pair.ends == [("ok", rounds)] * 2
    assert len(pair.rounds) == 2 * rounds


@pytest.mark.slow
def test_a_cell_that_is_decided_leaves_the_later_rounds_to_the_others(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "results", [fake_cell(1), fake_cell(2)])
    noisy = {1: 0.002, 2: 0.06}

    def takes(side: str) -> Takes:
        slower = {1: 0.1, 2: 0.03}
        return lambda cell, round_: duration(side, slower[cell.batch_size], noisy[cell.batch_size])(
            cell, round_
        )

    pair.run(*(pair.launcher(side, takes(side)) for side in SIDES))
    assert [rounds for _, rounds in pair.ends] == [FIRST, LAST] * 2
    assert Counter(pair.rounds) == dict.fromkeys(both(*range(1, LAST + 1)), 1)


@pytest.mark.parametrize(("cells", "is_first"), [(1, True), (6, False)])
def test_a_difference_needs_more_rounds_where_more_cells_are_judged(
    cells: int, is_first: bool, tmp_path: Path
) -> None:
    pair = Pair(tmp_path / "results", [fake_cell(size) for size in range(1, cells + 1)])

    def takes(side: str) -> Takes:
        unsure, sure = duration(side, 0.1, 0.03), duration(side, 0.0)
        return lambda cell, round_: (unsure if cell.batch_size == 1 else sure)(cell, round_)

    pair.run(*(pair.launcher(side, takes(side)) for side in SIDES))
    assert (pair.ends[0] == ("ok", FIRST)) == is_first
    assert set(pair.ends[1:cells]) <= {("ok", FIRST)}


@pytest.mark.representatives(2)
@pytest.mark.parametrize("round_", [1, 5])
@pytest.mark.parametrize("failing", SIDES)
def test_what_fails_on_one_side_leaves_the_other_its_record(
    pair: Pair, failing: str, round_: int
) -> None:
    faulty = pair.launcher(failing, faults={(failing, round_): Fault(KILLED)})
    assert pair.run(**{failing: faulty}).exit_code == 1
    baseline, run = pair.records
    ended, beside = (run, baseline) if failing == "run" else (baseline, run)
    assert (ended.status, beside.status, beside.rounds) == ("lost", "ok", FIRST)
    assert max(number for side, number in pair.rounds if side == failing) == round_


def test_a_refused_baseline_leaves_the_run_its_record(pair: Pair) -> None:
    baseline = pair.launcher("baseline")
    baseline.refusals["fake"] = ImageError("there is no such image")
    assert pair.run(baseline=baseline).exit_code == ImageError.exit_code
    assert pair.ends == [("unavailable", None), ("ok", FIRST)]
    assert pair.observer.notes[0] == "baseline: there is no such image"


@pytest.mark.representatives(2)
@pytest.mark.parametrize("round_", [1, 5])
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("side", SIDES)
def test_a_round_that_was_cut_in_two_is_measured_anew(
    tmp_path: Path, side: str, together: bool, round_: int
) -> None:
    pair = Pair(tmp_path / "results", together=together)
    with pytest.raises(Interrupted):
        pair.run(**{side: pair.launcher(side, faults={(side, round_): Fault(Interrupted())})})
    assert pair.reopened().run().exit_code == 0
    assert sorted(pair.rounds) == both(*range(round_, FIRST + 1))
    assert pair.ends == [("ok", FIRST)] * 2


@pytest.mark.slow
def test_a_lost_launch_is_taken_up_again_as_a_round(pair: Pair) -> None:
    faulty = pair.launcher("baseline", faults={("baseline", 3): Fault(KILLED)})
    pair.run(baseline=faulty)
    assert [status for status, _ in pair.ends] == ["lost", "ok"]
    pair.reopened().run()
    assert sorted(pair.rounds[:2]) == both(3)
    assert pair.ends == [("ok", FIRST)] * 2


def test_runs_that_have_all_their_verdicts_are_refused_by_either_id(pair: Pair) -> None:
    pair.run()
    for name in ("run", "baseline"):
        run_id = getattr(pair.folders, name).run.run_id
        both = BothFolders.open(pair.results, RunFolder.open(pair.results, run_id))
        assert both is not None
        assert both.run.run == pair.folders.run.run
        with pytest.raises(NothingToDo, match="and its baseline"):
            both.require_left(RunSource())
    with pytest.raises(UsageError, match="differs from the matrix"):
        both.require_left(RunSource(matrix="version: 1\n", matrix_path=Path("matrix.yaml")))


def test_a_kill_between_both_folders_leaves_nothing_half(pair: Pair) -> None:
    folder = pair.folders.baseline.path
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    assert pair.reopened().run().exit_code == 0
    assert pair.ends == [("ok", FIRST)] * 2


def test_a_spent_budget_ends_both_with_equal_rounds(pair: Pair) -> None:
    pair.run(budget_s=0.0)
    assert pair.rounds == []
    assert {record.status for record in pair.records} == {"unavailable"}
    assert {words_of(record.ending) for record in pair.records} == {
        "not started: the budget of 0s was spent"
    }


def test_without_an_engine_both_sides_say_so(pair: Pair) -> None:
    launchers = [pair.launcher(side) for side in SIDES]
    for launcher in launchers:
        launcher.refusals["fake"] = GONE
    assert pair.run(*launchers).exit_code == EngineUnavailable.exit_code
    assert {record.status for record in pair.records} == {"unavailable"}


def test_an_engine_that_comes_back_costs_neither_side_a_verdict(pair: Pair) -> None:
    class Outage(TakingTurns):
        is_gone = True

        def launch(self, task: Any) -> Any:
            if task.job.round == 2 and self.is_gone:
                self.is_gone = False
                raise GONE
            return super().launch(task)

    outcome = pair.run(baseline=Outage(duration("baseline"), "baseline", log=pair.log))
    assert outcome.exit_code == 0
    assert pair.ends == [("ok", FIRST)] * 2


def test_the_cells_are_counted_once_and_the_baseline_is_named(pair: Pair) -> None:
    pair.run()
    assert len(pair.observer.ended) == 1
    ids = Counter(job.id for job in pair.observer.jobs)
    assert sorted(ids.values()) == [FIRST, FIRST]
    assert [name for name in ids if name.endswith(" of the baseline")]
