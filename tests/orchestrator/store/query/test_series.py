"""Results of one series over time: the last ones before a run, and runs that measured the same."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from orchestrator.store.store import Store
from tests.orchestrator.store.conftest import Save
from tests.support.records import EXAMPLE_HOST, RECORDED_AT, a_record

CELL = "cpu-bert-tiny-fp32-b1-s128-inference"


def after(hours: int) -> dict[str, Any]:
    return {"run_id": str(hours), "recorded_at": RECORDED_AT + timedelta(hours=hours)}


SERIES: tuple[tuple[list[dict[str, Any]], str | None], ...] = (
    ([{}], "0"),
    ([{}, {}], "1"),
    ([{}, {"grade": "D"}], "0"),
    ([{}, {"correct": False, "correct_reason": "they differ"}], "0"),
    ([{}, {"launcher": "docker"}], "0"),
    ([{"seed": 8}], "0"),
    ([{"weights_seed": 8}], None),
    ([{"batch_size": 8}], None),
    ([{"cpu_model": "another"}], None),
    ([{"hostname": "renamed"}], "0"),
)
"""Earlier results than that of run 9, and the run of the one that can be quoted; each series is of
a sequence length of its own."""


def test_the_last_result_of_each_series_that_can_be_quoted(
    database: Path, results: Path, save: Save
) -> None:
    expected = set()
    for length, (before, last) in enumerate(SERIES, start=1):
        facts = {"grade": "B", "launcher": "process", "sequence_length": length}
        now = a_record(**facts, **after(9))
        save(*(a_record(**facts | after(n) | changes) for n, changes in enumerate(before)), now)
        save(a_record(**facts | after(10)))
        if last:
            expected.add((last, now.cell_id))
    with Store.open(database) as store:
        store.merge([results])
        earlier = store.neighbours("9")
        assert store.neighbours("unheard of") == []
    assert {(result.run_id, result.cell_id) for result in earlier} == expected
    assert len(earlier) == len(expected)
    assert all(result.same_software and result.latency_median_ms == 3.0 for result in earlier)


def test_other_libraries_are_other_software(database: Path, results: Path, save: Save) -> None:
    newer = a_record(grade="B", libraries={"torch": "9"}, **after(1))
    save(a_record(grade="B", **after(0)), newer)
    with Store.open(database) as store:
        store.merge([results])
        (earlier,) = store.neighbours("1")
    assert not earlier.same_software


def test_the_newest_run_that_measured_cells_before(
    database: Path, results: Path, save: Save
) -> None:
    first, other = a_record(**after(0)), a_record(batch_size=8, **after(0))
    save(first, other, a_record(**after(1)))
    wanted = {record.cell_id: (str(record.model_id), record.profile) for record in (first, other)}
    with Store.open(database) as store:
        store.merge([results])
        before = store.measured_before(wanted, EXAMPLE_HOST, first.launcher)
        assert before is not None
        assert (before.run_id, before.cells) == ("1", 1)
        assert before.measured_at == RECORDED_AT + timedelta(hours=1)
        for answer in (
            store.measured_before(
                dict.fromkeys(wanted, ("other", first.profile)), EXAMPLE_HOST, first.launcher
            ),
            store.measured_before(
                {CELL: (str(first.model_id), "audit")}, EXAMPLE_HOST, first.launcher
            ),
            store.measured_before(wanted, "elsewhere", first.launcher),
            store.measured_before(wanted, EXAMPLE_HOST, "slurm"),
            store.measured_before({}, EXAMPLE_HOST, first.launcher),
        ):
            assert answer is None
