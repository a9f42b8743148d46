"""A plan holds every cell of the run once, with a decision and its reason."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orchestrator.backends.machine import Machine
from orchestrator.planning.estimate import CellForecast, KnownSpeeds
from orchestrator.planning.plan import UNQUOTABLE_LOAD, Plan, make_plan, mark_done, planned_jobs
from orchestrator.store.query.results import CellSpeed
from orchestrator.system.selector import Selector
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, StoreError
from runner.contract.job import PROFILES
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.measure.grade import OTHER_LOAD
from tests.support.matrices import matrix_of
from tests.support.words import words_of

AXES: dict[str, Any] = {
    "model": ["bert-tiny", "gpt2"],
    "precision": ["fp32", "int8", "bf16"],
    "batch_size": [1, 2],
    "mode": "training",
}


def decisions(plan: Plan) -> list[str]:
    return [entry.decision for entry in plan.entries]


def test_what_runs_has_an_estimate_and_what_does_not_has_a_reason() -> None:
    plan = make_plan(matrix_of(AXES))
    assert decisions(plan) == ["run", "run", "skip", "skip", "run", "run"] * 2
    for entry in plan.entries:
        if entry.decision == "run":
            assert entry.estimate_s > 0
            assert (entry.status, words_of(entry.reason)) == (None, None)
        else:
            assert entry.estimate_s == 0
            assert entry.status == "unsupported"
            assert "whole numbers have no gradients" in str(words_of(entry.reason))


def test_a_backend_this_machine_lacks_is_skipped_with_its_reason() -> None:
    axes = {"model": "gpt2", "backend": ["fake", "cpu"], "precision": ["fp32", "int8"]}
    matrix = matrix_of(axes | {"mode": "training"})
    plan = make_plan(
        matrix, machine=Machine(unavailable={"cpu": reason("said", text="no cpu here")})
    )
    assert [
        (entry.decision, entry.status, words_of(entry.reason)) for entry in plan.entries[:3]
    ] == [("run", None, None), ("run", None, None), ("skip", "unavailable", "no cpu here")]
    assert plan.entries[3].status == "unsupported"


def test_a_cell_that_cannot_fit_is_skipped_as_out_of_memory() -> None:
    matrix = matrix_of({"model": ["gpt2", "bert-tiny"]}, limits={"memory": "300MB"})
    gpt2, bert = make_plan(matrix).entries
    assert (gpt2.decision, gpt2.status) == ("skip", "out_of_memory")
    assert str(words_of(gpt2.reason)).startswith("predicted: needs at least 0.6")
    assert bert.decision == "run"


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ({"backend": "wasm"}, "8.85 GB of WebAssembly's memory, which ends at 4.29 GB"),
        ({"backend": "wasm", "precision": "int8"}, None),
        ({"backend": "cpu"}, None),
    ],
)
def test_a_model_beyond_four_gib_is_unsupported_in_browsers(
    axes: dict[str, Any], reason: str | None
) -> None:
    matrix = matrix_of({"model": "qwen2-vl-2b", "image_size": 448, **axes})
    (entry,) = make_plan(matrix).entries
    assert entry.status == (reason and "unsupported")
    assert (reason or "") in (words_of(entry.reason) or "")


def test_a_selector_narrows_the_plan_and_says_so() -> None:
    plan = make_plan(matrix_of(AXES), selector=Selector(["*-gpt2-*", "!*-b2-*"]))
    assert [entry.cell.id for entry in plan.entries] == [
        "cpu-gpt2-fp32-b1-s128-training",
        "cpu-gpt2-int8-b1-s128-training",
        "cpu-gpt2-bf16-b1-s128-training",
    ]
    assert plan.notes == ("--select leaves out 9 of 12 cells",)
    assert not plan.whole
    assert set(plan.models) == {"gpt2"}


@pytest.mark.parametrize(
    ("globs", "message"),
    [
        (["bert-tny"], "--select 'bert-tny' keeps none of 12 cells; did you mean 'bert-tiny'?"),
        (["gpt2-*"], "--select 'gpt2-*' keeps none of 12 cells; did you mean '*gpt2-*'?"),
        (["!*"], "--select '!*' keeps none of 12 cells"),
    ],
)
def test_a_selector_that_keeps_nothing_is_answered(globs: list[str], message: str) -> None:
    with pytest.raises(NothingToDo) as caught:
        make_plan(matrix_of(AXES), selector=Selector(globs))
    assert str(caught.value).endswith(message)
    assert "one id is cpu-bert-tiny-fp32-b1-s128-training" in (caught.value.hint or "")


def test_a_limit_keeps_the_first_cells_that_run_and_says_so() -> None:
    plan = make_plan(matrix_of(AXES), limit=3)
    running = [entry.cell.id for entry in plan.with_decision("run")]
    assert running == [
        "cpu-bert-tiny-fp32-b1-s128-training",
        "cpu-bert-tiny-fp32-b2-s128-training",
        "cpu-bert-tiny-bf16-b1-s128-training",
    ]
    assert len(plan.with_decision("skip")) == 4
    assert plan.notes == ("--limit 3 leaves out 5 of 8 cells",)
    assert not plan.whole


def test_what_has_a_verdict_is_done_whatever_it_was() -> None:
    plan = make_plan(matrix_of(AXES))
    done = mark_done(
        plan,
        {
            "cpu-gpt2-fp32-b1-s128-training": "timeout",
            "cpu-gpt2-int8-b1-s128-training": "unsupported",
            "elsewhere": "ok",
        },
    )
    by_id = {entry.cell.id: entry for entry in done.entries}
    finished = by_id["cpu-gpt2-fp32-b1-s128-training"]
    assert (finished.decision, finished.status, finished.estimate_s) == ("done", "timeout", 0)
    assert by_id["cpu-gpt2-int8-b1-s128-training"].decision == "done"
    assert len(done.with_decision("done")) == 2
    assert len(done.entries) == len(plan.entries)


def test_done_cells_count_towards_the_limit_so_that_resuming_takes_no_others() -> None:
    first = make_plan(matrix_of(AXES), limit=2)
    names = [entry.cell.id for entry in first.entries if entry.decision == "run"]
    again = mark_done(make_plan(matrix_of(AXES), limit=2), {names[0]: "ok"})
    assert [entry.cell.id for entry in again.with_decision("run")] == names[1:]


def test_speed_and_load_come_from_history_and_durations_from_the_profile() -> None:
    name = "cpu-bert-tiny-fp32-b1-s128-inference"
    before = {name: CellSpeed(iteration_s=0.01, load_s=5.0)}

    def planned(profile: str, history: Mapping[str, CellSpeed]) -> tuple[float, float]:
        matrix = matrix_of({"model": "bert-tiny"}, measure={"profile": profile})
        plan = make_plan(matrix, speeds=KnownSpeeds(history))
        (entry,) = plan.entries
        (job,) = planned_jobs(plan)
        return entry.estimate_s, job.estimate_s

    for profile in ("quick", "standard", "audit"):
        measure = PROFILES[profile]
        cell_s, job_s = planned(profile, before)
        assert measure.min_s <= cell_s <= measure.max_s + measure.rounds * measure.warmup_max_s
        assert job_s > cell_s + measure.rounds * 5.0
    assert planned("audit", before)[0] > 10 * planned("quick", before)[0]
    assert planned("quick", {name: CellSpeed(3.0, 5.0)})[0] > planned("quick", before)[0]


def test_a_plan_survives_json() -> None:
    matrix = matrix_of(AXES | {"backend": ["cpu", "cuda"]}, exclude=[{"backend": "cuda"}])
    plan = mark_done(make_plan(matrix, limit=3), {"cpu-gpt2-fp32-b1-s128-training": "ok"})
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_cells_that_are_foreseen_to_time_out_are_noted() -> None:
    axes = {"model": "gpt2", "mode": "startup"}
    measure, limits = {"iterations": 100, "max_duration": "1h"}, {"cell_timeout": "9s"}
    plan = make_plan(matrix_of(axes, measure=measure, limits=limits))
    (note,) = [note for note in plan.notes if "cell_timeout" in note]
    assert note.startswith("cpu-gpt2-fp32-b1-s128-startup may take about ")
    assert note.endswith("longer than limits.cell_timeout, 9s")
    assert not any("cell_timeout" in note for note in make_plan(matrix_of(axes)).notes)


BATCHES = {"model": "bert-tiny", "batch_size": [1, 2, 4]}
MEASURED = {"cpu-bert-tiny-fp32-b1-s128-inference": CellSpeed(iteration_s=0.01, load_s=5.0)}
GIB = 1 << 30


def forecast(cells: Sequence[Cell], models: Mapping[str, ModelSpec]) -> list[CellForecast]:
    """Half a second for a batch of two, which takes 3 GiB; nothing is known of others."""
    assert {cell.model for cell in cells} <= models.keys()
    return [
        CellForecast(0.5, 3 * GIB) if cell.batch_size == 2 else CellForecast() for cell in cells
    ]


def forecast_plan(memory_bytes: int | None = None, **limits: str) -> Plan:
    matrix = matrix_of(BATCHES, measure={"profile": "quick"}, limits=limits)
    speeds = KnownSpeeds(MEASURED, forecast)
    return make_plan(matrix, speeds=speeds, machine=Machine(memory_bytes=memory_bytes))


def test_what_was_measured_comes_before_predictions_and_these_before_arithmetic() -> None:
    plan = forecast_plan()
    plain = make_plan(matrix_of(BATCHES, measure={"profile": "quick"}))
    assert [one.estimated_by for one in plan.entries] == ["measured", "predicted", "arithmetic"]
    assert {one.estimated_by for one in plain.entries} == {"arithmetic"}
    least = 0.5 * plan.measure["cpu"].iterations
    assert plan.entries[1].estimate_s > plain.entries[1].estimate_s + least
    assert plan.entries[2].estimate_s == plain.entries[2].estimate_s


@pytest.mark.parametrize(
    ("memory_bytes", "limits", "allowed"),
    [
        (2 * GIB, {}, "2GiB"),
        (None, {"memory": "1GiB"}, "1GiB"),
        (8 * GIB, {}, None),
        (None, {}, None),
    ],
)
def test_predicted_memory_is_a_remark(
    memory_bytes: int | None, limits: dict[str, str], allowed: str | None
) -> None:
    plan = forecast_plan(memory_bytes, **limits)
    assert {one.decision for one in plan.entries} == {"run"}
    notes = [note for note in plan.notes if "may run out of memory" in note]
    assert len(notes) == (allowed is not None)
    if allowed:
        assert "-b2-s128-inference may run out of memory: 3GiB are predicted" in notes[0]
        assert f"{allowed} may be used" in notes[0]


def test_a_predictor_that_cannot_be_used_is_a_note() -> None:
    def damaged(cells: object, models: object) -> list[CellForecast]:
        raise StoreError("benchmarks.duckdb.predictor: latency.json was altered")

    plan = make_plan(matrix_of(BATCHES), speeds=KnownSpeeds(forecast=damaged))
    assert {one.estimated_by for one in plan.entries} == {"arithmetic"}
    (note,) = plan.notes
    assert note.startswith("seconds are not predicted: benchmarks.duckdb.predictor: latency.json")


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (0.0, None),
        (0.4, None),
        (1.0, "load 1 on 2 cores; expect about 1.5 times"),
        (16.0, "load 16 on 2 cores; expect about 9 times"),
    ],
)
def test_a_busy_machine_is_said_with_what_it_costs(load: float, words: str | None) -> None:
    matrix = matrix_of({"model": "gpt2", "backend": ["cpu", "cuda"], "mode": "startup"})
    alone = make_plan(matrix).entries
    plan = make_plan(matrix, machine=Machine(load=load, cores=2))
    notes = [note for note in plan.notes if "busy" in note]
    assert [note.partition(": ")[2] for note in notes] == (
        [f"{words} as long as alone, and grade D for what is timed"] if words else []
    )
    slowdown = 1 + load / 2
    (cpu, cuda), (cpu_alone, cuda_alone) = plan.entries, alone
    assert cpu.launch_s == pytest.approx(slowdown * cpu_alone.launch_s)
    assert cpu.estimate_s > cpu_alone.estimate_s or load == 0
    assert cuda.estimate_s == cuda_alone.estimate_s


def test_the_load_from_which_on_nothing_is_quoted_is_the_runners() -> None:
    assert OTHER_LOAD.d == UNQUOTABLE_LOAD
