"""Candidates of a run side by side: rounds, looks, failures, outages, interruption."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.paired import round_ratio
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.planning.estimate import FEWEST_BLOCKS, LEAST_BURSTS
from orchestrator.planning.groups import JobGroup
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, EngineUnavailable, ImageError, Unavailable
from runner.contract.job import Job, Limits, Provenance
from runner.contract.record.record import Record
from runner.contract.rounds import Bursts
from tests.support.fakes import KeptObserver
from tests.support.jobs import FAST, fake_cell, fake_model
from tests.support.records import a_round
from tests.support.runs import a_plan, a_run_folder
from tests.support.turns import GONE, KILLED, OUT_OF_MEMORY, Fault, Interrupted, Takes, TakingTurns
from tests.support.words import doubt_words, words_of

pytestmark = pytest.mark.usefixtures("unmerged")

LOOKS = (3, 6)
SHORT = Limits(cell_timeout_s=0.5)


def apart(model: str, share: float = 0.2) -> Takes:
    """Durations of which those of this model are longer by a share, each round like another."""
    return lambda cell, _: 10.0 * (1 + share * (cell.model == model))


def noisy(cell: Cell, round_: int) -> float:
    """Durations that no number of rounds tells apart, whose ratios change from round to round."""
    return 10.0 * 1.3 ** ((round_ * (1 + ord(cell.model[0]))) % 3)


class Comparison:
    """A run of one job for each model, side by side, with a scripted launcher."""

    def __init__(
        self,
        results: Path,
        models: str = "abc",
        batch_sizes: Sequence[int] = (1,),
        limits: Limits | None = None,
        **group: Any,
    ) -> None:
        cells = [fake_cell(size, model=model) for model in models for size in batch_sizes]
        measure = FAST.model_copy(update={"rounds": LOOKS[0], "max_rounds": LOOKS[-1]})
        jobs = tuple(dict.fromkeys(cell.job_id for cell in cells))
        known = {"name": "g1", "jobs": jobs, "measure": measure, "looks": LOOKS}
        plan = a_plan(cells, limits=limits).model_copy(
            update={"groups": (JobGroup(**known | group),)}
        )
        self.folder = a_run_folder(results, plan)
        self.observer = KeptObserver()

    def run(self, launcher: TakingTurns, **options: Any) -> RunOutcome:
        try:
            return self.execution(launcher, **options).run()
        finally:
            assert launcher.running == 0

    def execution(self, launcher: TakingTurns, **options: Any) -> RunExecution:
        chosen = RunOptions(database=self.folder.database, **options)
        return RunExecution(self.folder, launcher, self.observer, chosen, engine_grace_s=0.0)

    def records(self) -> dict[tuple[str, int], Record]:
        """The records by model and batch size."""
        records = filter(None, map(self.folder.record_of, self.folder.cells))
        return {(record.model, record.batch_size): record for record in records}

    def ends(self) -> dict[str, tuple[str, int | None]]:
        """Status and rounds of each model's first cell, and of others with their batch size."""
        return {
            model if size == 1 else f"{model}{size}": (record.status, record.rounds)
            for (model, size), record in self.records().items()
        }


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    return Comparison(tmp_path)


def rounds_of(launcher: TakingTurns) -> list[tuple[str, int]]:
    """The launches and their rounds, in order."""
    return [(name, round_) for name, what, round_ in launcher.log if what == "launched"]


def bursts_of(launcher: TakingTurns, round_: int, batch_size: int = 1) -> Counter[str]:
    return Counter(
        name for name, what, of in launcher.log if (what, of) == (f"b{batch_size}", round_)
    )


def test_each_round_launches_all_and_lets_them_take_bursts_in_turns(three: Comparison) -> None:
    launcher = TakingTurns(noisy)
    assert three.run(launcher).exit_code == 0
    launches = rounds_of(launcher)
    assert [round_ for _, round_ in launches] == [n for n in range(1, 7) for _ in "abc"]
    for round_ in range(1, 7):
        log = [(name, what) for name, what, of in launcher.log if of == round_]
        assert sorted(log[:3]) == [(name, "launched") for name in "abc"]
        blocks = [sorted(name for name, _ in log[at : at + 3]) for at in range(3, len(log), 3)]
        assert blocks == [[*"abc"]] * LEAST_BURSTS
    assert len({tuple(name for name, of in launches if of == n) for n in range(1, 7)}) > 1
    assert three.ends() == dict.fromkeys("abc", ("ok", 6))
    assert sorted(three.observer.ended) == sorted((cell.id, "ok") for cell in three.folder.cells)


def test_orders_follow_from_the_seed(tmp_path: Path) -> None:
    logs = []
    for number, seed in enumerate((1, 1, 2)):
        comparison = Comparison(tmp_path / str(number))
        options = replace(comparison.folder.run.options, seed=seed)
        run = comparison.folder.run.model_copy(update={"options": options})
        comparison.folder = RunFolder(comparison.folder.path, run)
        launcher = TakingTurns(apart("a"))
        comparison.run(launcher)
        logs.append(launcher.log)
    assert logs[0] == logs[1]
    assert logs[0] != logs[2]


@pytest.mark.parametrize(
    ("takes", "rounds"),
    [
        (lambda cell, _: {"a": 10.0, "b": 12.0, "c": 15.0}[cell.model], 3),
        (lambda cell, _: 10.0, 3),
        (apart("a"), 3),
        (noisy, 6),
    ],
    ids=["all apart", "all equal", "some of both", "undecided"],
)
def test_a_comparison_ends_at_the_first_look_that_decides_every_ratio(
    three: Comparison, takes: Takes, rounds: int
) -> None:
    three.run(TakingTurns(takes))
    assert three.ends() == dict.fromkeys("abc", ("ok", rounds))
    for record in three.records().values():
        assert (record.side_by_side, record.looks) == ("run-1.g1", [*LOOKS])
        assert doubt_words(vars(record)) == []


def test_a_question_that_is_decided_leaves_later_rounds_to_the_others(tmp_path: Path) -> None:
    comparison = Comparison(tmp_path, "ab", (1, 2))
    launcher = TakingTurns(
        lambda cell, round_: (noisy if cell.batch_size == 2 else apart("a"))(cell, round_)
    )
    comparison.run(launcher)
    assert comparison.ends() == {name: ("ok", 3 * int(name[1:] or 1)) for name in comparison.ends()}
    assert {len(job.cells) for job in launcher.launched if job.round > 3} == {1}


ENDS = [
    (Fault(KILLED), "lost", "the runner died by SIGKILL in phase steady"),
    (Fault(OUT_OF_MEMORY), "out_of_memory", "exceeding the memory limit, in phase steady"),
    (Fault(None), "lost", "its burst was not done after 0.5 s, so it was ended"),
    (Fault(is_data=True), "failed", "it broke"),
]


@pytest.mark.representatives(3)
@pytest.mark.parametrize("round_", [1, 2])
@pytest.mark.parametrize(("fault", "status", "reason"), ENDS, ids=["dies", "oom", "hangs", "fails"])
def test_a_launch_that_ends_in_mid_burst_has_one_verdict_and_the_others_go_on(
    tmp_path: Path, fault: Fault, status: str, reason: str, round_: int
) -> None:
    three = Comparison(tmp_path, limits=SHORT)
    launcher = TakingTurns(apart("a"), faults={("b", round_): fault})
    assert three.run(launcher).exit_code == 1
    assert three.ends() == {"a": ("ok", 3), "b": (status, None), "c": ("ok", 3)}
    assert reason in str(words_of(three.records()["b", 1].ending))
    assert bursts_of(launcher, round_) == {"a": LEAST_BURSTS, "b": 1, "c": LEAST_BURSTS}
    assert Counter(rounds_of(launcher))["a", round_] == 1
    assert ("b", round_ + 1) not in rounds_of(launcher)
    assert Counter(ending for _, ending in three.observer.ended) == {"ok": 2, status: 1}


@pytest.mark.parametrize("fault", [Fault(KILLED), Fault(None)], ids=["dies", "hangs"])
def test_what_a_dead_launch_leaves_is_measured_with_all_its_fellows(
    tmp_path: Path, fault: Fault
) -> None:
    comparison = Comparison(tmp_path, "ab", (1, 2), limits=SHORT)
    launcher = TakingTurns(apart("a"), faults={("b", 2): fault})
    comparison.run(launcher)
    ends = comparison.ends()
    assert ends.pop("b") == ("lost", None)
    assert ends == {"a": ("ok", 3), "a2": ("ok", 3), "b2": ("ok", 3)}
    again = [job for job in launcher.launched if job.round == 2][2:]
    assert {(job.cells[0].model, job.cells[0].batch_size) for job in again} == {("a", 2), ("b", 2)}


def test_whose_cell_fails_takes_the_next_question_with_the_others(tmp_path: Path) -> None:
    comparison = Comparison(tmp_path, "ab", (1, 2))
    cells = comparison.folder.cells
    launcher = TakingTurns(apart("a"), faults={("b", 1): Fault(is_data=True)})
    comparison.run(launcher)
    assert comparison.ends()["b"] == ("failed", None)
    assert {comparison.ends()[name] for name in ("a", "a2", "b2")} == {("ok", 3)}
    assert bursts_of(launcher, 1, 2) == {"a": LEAST_BURSTS, "b": LEAST_BURSTS}
    assert len(rounds_of(launcher)) == 6
    assert len(cells) == 4


STRIKES = [
    Fault(ending, batch_size, is_data)
    for batch_size in (1, 2)
    for ending, is_data in (
        (KILLED, False),
        (OUT_OF_MEMORY, False),
        (None, False),
        (None, True),
        (GONE, False),
    )
]


@pytest.mark.slow
@settings(max_examples=10)
@given(
    faults=st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.integers(1, 4)), st.sampled_from(STRIKES), max_size=3
    ),
    together=st.booleans(),
)
def test_whatever_strikes_each_cell_has_one_verdict_and_the_others_whole_rounds(
    faults: dict[tuple[str, int], Fault], together: bool
) -> None:
    with TemporaryDirectory() as folder:
        comparison = Comparison(Path(folder), "abc", (1, 2), SHORT, together=together)
        launcher = TakingTurns(apart("a"), faults=dict(faults))
        comparison.run(launcher)
        records = comparison.records()
        assert len(records) == 6
        assert Counter(name for name, _ in comparison.observer.ended).most_common(1)[0][1] == 1
        struck = Counter(model for model, _ in faults.keys() - launcher.faults.keys())
        for model in "abc":
            bad = [size for size in (1, 2) if records[model, size].status != "ok"]
            assert len(bad) <= struck[model]
            # Whoever dies in the round in which the engine goes is launched once more.
            assert len(bad) == min(2, struck[model]) or GONE in {
                one.ending for one in faults.values()
            }
        for size in (1, 2):
            rounds = {records[model, size].rounds for model in "abc"} - {None}
            assert rounds <= {3}
            assert rounds or struck.total() >= 3


def test_the_last_one_that_is_left_ends_at_the_first_look(three: Comparison) -> None:
    faults = {("a", 1): Fault(KILLED), ("b", 2): Fault(KILLED)}
    three.run(TakingTurns(noisy, faults=faults))
    assert three.ends() == {"a": ("lost", None), "b": ("lost", None), "c": ("ok", 3)}


@pytest.mark.parametrize("round_", [1, 3])
def test_an_interruption_in_mid_burst_leaves_nothing_running_and_resume_goes_on(
    three: Comparison, round_: int
) -> None:
    with pytest.raises(Interrupted):
        three.run(TakingTurns(apart("a"), faults={("b", round_): Fault(Interrupted())}))
    assert three.ends() == {}
    again = TakingTurns(apart("a"))
    assert three.run(again).exit_code == 0
    assert sorted(rounds_of(again)) == [(name, n) for name in "abc" for n in range(round_, 4)]
    assert three.ends() == dict.fromkeys("abc", ("ok", 3))


def test_whole_rounds_alone_count_after_an_interruption(tmp_path: Path) -> None:
    """Launches in turns: one has the round already, the other was killed in it."""
    comparison = Comparison(tmp_path, "ab", together=False)
    launcher = TakingTurns(apart("a"))
    comparison.run(launcher)
    victim = next(cell for cell in comparison.folder.cells if cell.model == "b")
    comparison.folder.forget([victim])
    comparison.folder.rounds.drop([victim], kept=1)
    again = TakingTurns(apart("a"))
    comparison.run(again)
    assert sorted(rounds_of(again)) == [(name, n) for name in "ab" for n in (2, 3)]
    assert comparison.ends() == {"a": ("ok", 3), "b": ("ok", 3)}


def test_a_kill_between_two_records_of_a_decided_question_costs_no_launch(
    three: Comparison,
) -> None:
    three.run(TakingTurns(apart("a")))
    three.folder.forget(three.folder.cells[1:])
    again = TakingTurns(apart("a"))
    three.run(again)
    assert rounds_of(again) == []
    assert three.ends() == dict.fromkeys("abc", ("ok", 3))


def test_a_lost_one_is_resumed_with_its_fellows_from_the_round_that_it_missed(
    three: Comparison,
) -> None:
    three.run(TakingTurns(apart("a"), faults={("b", 2): Fault(KILLED)}))
    again = TakingTurns(apart("a"))
    three.run(again)
    assert sorted(rounds_of(again)) == [(name, n) for name in "abc" for n in (2, 3)]
    assert three.ends() == dict.fromkeys("abc", ("ok", 3))


def test_a_damaged_round_makes_all_start_over(three: Comparison) -> None:
    with pytest.raises(Interrupted):
        three.run(TakingTurns(apart("a"), faults={("b", 3): Fault(Interrupted())}))
    (victim,) = three.folder.records.rglob("*-c-*.round1.json")
    victim.write_bytes(b"{")
    again = TakingTurns(apart("a"))
    three.run(again)
    assert sorted(rounds_of(again)) == [(name, n) for name in "abc" for n in (1, 2, 3)]
    assert three.ends() == dict.fromkeys("abc", ("ok", 3))


def test_rounds_of_another_image_are_not_mixed_in_by_anybody(three: Comparison) -> None:
    class Rebuilt(TakingTurns):
        def prepare(self, backend: Backend) -> Provenance:
            return (
                super().prepare(backend).model_copy(update={"image_digest": f"sha256:{'1' * 64}"})
            )

    with pytest.raises(Interrupted):
        three.run(TakingTurns(apart("a"), faults={("b", 3): Fault(Interrupted())}))
    again = Rebuilt(apart("a"))
    three.run(again)
    assert sorted(rounds_of(again)) == [(name, n) for name in "abc" for n in (1, 2, 3)]
    assert {record.image_digest for record in three.records().values()} == {f"sha256:{'1' * 64}"}


def test_a_spent_budget_leaves_records_of_equally_many_rounds(
    three: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = TakingTurns(noisy)
    execution = three.execution(launcher, budget_s=10.0)
    now = [0.0]
    monkeypatch.setattr("orchestrator.running.execution.time.monotonic", lambda: now[0])
    launcher.takes = lambda cell, n: (now.__setitem__(0, 20.0 * (n == 2)), noisy(cell, n))[1]
    execution.run()
    assert three.ends() == dict.fromkeys("abc", ("ok", 2))
    for record in three.records().values():
        assert doubt_words(vars(record))[0].startswith("2 of 3 rounds before the budget of 10s")


def test_a_budget_that_is_spent_at_once_launches_nothing(three: Comparison) -> None:
    launcher = TakingTurns(noisy)
    assert three.run(launcher, budget_s=0.0).exit_code == 3
    assert launcher.log == []
    assert three.ends() == dict.fromkeys("abc", ("unavailable", None))
    words = {words_of(record.ending) for record in three.records().values()}
    assert words == {"not started: the budget of 0s was spent"}


def test_fail_fast_ends_the_group_behind_the_round(three: Comparison) -> None:
    launcher = TakingTurns(noisy, faults={("b", 2): Fault(KILLED)})
    assert three.run(launcher, fail_fast=True).exit_code == 1
    assert {round_ for _, round_ in rounds_of(launcher)} == {1, 2}
    assert {name: status for name, (status, _) in three.ends().items()} == {
        "a": "unavailable",
        "b": "lost",
        "c": "unavailable",
    }


class Refusing(TakingTurns):
    """A launcher that cannot launch one model."""

    error: BenchError

    def launch(self, task: Any) -> Any:
        if task.job.cells[0].model == "b":
            raise self.error
        return super().launch(task)


REFUSALS = [
    (Unavailable("the device is gone", hint="plug it in"), 0),
    (ImageError("there is no such image", hint="build it"), 5),
]


@pytest.mark.representatives(2)
@pytest.mark.parametrize(("error", "exit_code"), REFUSALS, ids=["device", "image"])
@pytest.mark.parametrize("together", [True, False])
def test_a_candidate_that_is_refused_leaves_the_others(
    tmp_path: Path, error: BenchError, exit_code: int, together: bool
) -> None:
    three = Comparison(tmp_path, together=together)
    launcher = Refusing(apart("a"))
    launcher.error = error
    assert three.run(launcher).exit_code == exit_code
    assert three.ends() == {"a": ("ok", 3), "b": ("unavailable", None), "c": ("ok", 3)}
    assert {name for name, _ in rounds_of(launcher)} == {"a", "c"}
    assert three.observer.notes == [f"{error}; {error.hint}"]


def test_what_is_refused_to_be_measured_elsewhere_is_asked_for_once(three: Comparison) -> None:
    """A host of a fleet gives back what it cannot launch, and its verdict comes from another."""
    launcher = Refusing(noisy)
    launcher.error = Unavailable("the device is gone")
    declined: list[Cell] = []
    execution = three.execution(launcher)
    execution.decline = lambda cells, error: declined.extend(cells)
    execution.measure()
    assert [cell.model for cell in declined] == ["b"]
    assert three.ends() == {"a": ("ok", 6), "c": ("ok", 6)}
    assert sorted(rounds_of(launcher)) == [(name, n) for name in "ac" for n in range(1, 7)]


class Outage(TakingTurns):
    """An engine that goes away so many times while the named model is launched, and comes back."""

    times = 1

    def launch(self, task: Any) -> Any:
        if task.job.cells[0].model == "b" and self.times:
            self.times -= 1
            raise GONE
        return super().launch(task)


@pytest.mark.representatives(2)
@pytest.mark.parametrize("models", ["abc", "abcde"])
@pytest.mark.parametrize("times", [1, 3])
def test_an_engine_that_comes_back_costs_no_verdict_however_many_there_are(
    tmp_path: Path, models: str, times: int
) -> None:
    comparison, launcher = Comparison(tmp_path, models), Outage(apart("a"))
    launcher.times = times
    outcome = comparison.run(launcher)
    assert (outcome.exit_code, outcome.troubles) == (0, ())
    assert comparison.ends() == dict.fromkeys(models, ("ok", 3))
    assert comparison.observer.notes.count("the container engine is back") == times


def test_an_outage_in_mid_burst_costs_the_cell_in_hand_and_the_round_is_taken_anew(
    three: Comparison,
) -> None:
    launcher = TakingTurns(apart("a"), faults={("b", 2): Fault(GONE)})
    outcome = three.run(launcher)
    assert (outcome.exit_code, outcome.troubles) == (1, ())
    assert three.ends() == {"a": ("ok", 3), "b": ("lost", None), "c": ("ok", 3)}
    again = [one for one in rounds_of(launcher) if one[1] == 2][3:]
    assert {name for name, _ in again} <= {"a", "c"}


def test_an_engine_that_stays_away_leaves_verdicts_and_its_exit_code(three: Comparison) -> None:
    class ForGood(Outage):
        def launch(self, task: Any) -> Any:
            if task.job.round == 2:
                self.refusals["fake"] = GONE
                raise GONE
            return super().launch(task)

    launcher = ForGood(apart("a"))
    launcher.times = 0
    assert three.run(launcher).exit_code == EngineUnavailable.exit_code
    assert three.ends() == dict.fromkeys("abc", ("unavailable", None))
    launcher.refusals.clear()
    again = TakingTurns(apart("a"))
    three.run(again)
    assert min(round_ for _, round_ in rounds_of(again)) == 2
    assert three.ends() == dict.fromkeys("abc", ("ok", 3))


def test_without_an_engine_nobody_waits_for_one(three: Comparison) -> None:
    launcher = TakingTurns(noisy)
    launcher.refusals["fake"] = GONE
    assert three.run(launcher).exit_code == EngineUnavailable.exit_code
    assert three.observer.notes == [f"{GONE}; {GONE.hint}"]
    assert three.ends() == dict.fromkeys("abc", ("unavailable", None))


def test_an_image_made_anew_after_an_outage_is_the_one_recorded(three: Comparison) -> None:
    old, new = (f"sha256:{digit * 64}" for digit in "01")

    class Rebuilding(Outage):
        def prepare(self, backend: Backend) -> Provenance:
            digest = old if self.times else new
            return super().prepare(backend).model_copy(update={"image_digest": digest})

    launcher = Rebuilding(apart("a"))
    three.run(launcher)
    assert {record.image_digest for record in three.records().values()} == {new}
    assert three.ends() == dict.fromkeys("abc", ("ok", 3))


def test_what_does_not_fit_together_is_launched_in_turns(tmp_path: Path) -> None:
    comparison = Comparison(tmp_path, together=False)

    class Alone(TakingTurns):
        def launch(self, task: Any) -> Any:
            assert self.running == 0
            return super().launch(task)

    launcher = Alone(apart("a"), faults={("b", 2): Fault(KILLED)})
    comparison.run(launcher)
    assert comparison.ends() == {"a": ("ok", 3), "b": ("lost", None), "c": ("ok", 3)}
    assert {record.round_bursts for record in comparison.records().values()} == {None}
    launches = rounds_of(launcher)
    assert [round_ for _, round_ in launches] == [1, 1, 1, 2, 2, 2, 3, 3]
    assert not any(job.takes_turns for job in launcher.launched)


@pytest.mark.slow
def test_a_runner_that_waits_for_ever_is_ended_by_the_jobs_own_limit(tmp_path: Path) -> None:
    class Endless(TakingTurns):
        def _play(self, name: str, job: Job, out: Path, lines: Any) -> Any:
            if name != "b":
                return (yield from super()._play(name, job, out, lines))
            event = f'{{"event": "waits", "cell_id": "{job.cells[0].id}"}}'
            while True:
                lines.put(event)
                yield

    comparison = Comparison(tmp_path, "ab", limits=Limits(cell_timeout_s=0.2))
    comparison.run(Endless(apart("a")))
    assert comparison.ends() == {"a": ("ok", 3), "b": ("timeout", None)}


@pytest.mark.slow
def test_real_runners_take_turns_in_processes_and_one_that_dies_leaves_the_others(
    tmp_path: Path,
) -> None:
    three = Comparison(tmp_path)
    plan = three.folder.run.plan
    changes = {"a": {}, "b": {"faults": {"*": "die"}}, "c": {"latency_s": 0.002}}
    models = {
        name: fake_model(**config).model_copy(update={"name": name})
        for name, config in changes.items()
    }
    run = three.folder.run.model_copy(update={"plan": plan.model_copy(update={"models": models})})
    three.folder = RunFolder(three.folder.path, run)
    options = RunOptions(database=three.folder.database)
    RunExecution(three.folder, ProcessLauncher(), three.observer, options).run()
    records = three.records()
    assert records.pop(("b", 1)).status == "lost"
    assert records["a", 1].round_bursts == records["c", 1].round_bursts
    for record in records.values():
        assert record.status == "ok"
        assert record.rounds in LOOKS
        assert min(record.round_bursts or [0]) >= FEWEST_BLOCKS
        assert sum(record.burst_iterations or ()) == record.iterations


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [
        ([10, 10, 10], [20, 20, 20], 2.0),
        ([10, 0, 0], [20, 20, 30], 2.0),
        ([0, 0], [20, 20], None),
        ([20, 20], [0, 0], None),
        ([10, 10, 10], [20], 2.0),
    ],
)
def test_bursts_for_which_the_clock_was_too_coarse_make_no_ratio(
    first: list[int], second: list[int], ratio: float | None
) -> None:
    one, other = (
        a_round([*values], bursts=bursts_of_one(len(values))) for values in (first, second)
    )
    found = round_ratio(one.sample_medians_ns, other.sample_medians_ns)
    assert (found if found is None else pytest.approx(exp(found.logarithm))) == ratio


def bursts_of_one(count: int) -> Bursts:
    return Bursts(iterations=[1] * count, dropped=0, rest_s=0, clocks_hz=[None] * count)
