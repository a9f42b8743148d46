"""The note before a run that measures again what was measured already."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.commands.measure.repeats import describe_repeat
from orchestrator.store import Store
from runner.contract.models import find
from runner.contract.record import Record, model_id, save_record
from tests.support.records import EXAMPLE_HOST, a_record, cell_of
from tests.support.runs import a_plan

SPEC = find("bert-tiny")


def measured(batch_size: int, ago: timedelta) -> Record:
    spec = SPEC.model_dump_json()
    facts = {"model_spec": spec, "model_id": model_id(spec), "launcher": "process"}
    return a_record(
        batch_size=batch_size, run_id="run-1", recorded_at=datetime.now(UTC) - ago, **facts
    )


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("batches", "ago", "note"),
    [
        ([1, 8], timedelta(minutes=12, seconds=5), "measured 12 minutes ago in run run-1;"),
        ([8], timedelta(days=1, hours=3), "1 of 2 cells measured 1 day ago in run run-1;"),
        ([4], timedelta(hours=2), None),
        ([], timedelta(), None),
    ],
)
def test_a_repetition_is_named_with_what_fills_gaps(
    tmp_path: Path, batches: list[int], ago: timedelta, note: str | None
) -> None:
    records = [measured(batch, ago) for batch in batches]
    database = tmp_path / "benchmarks.duckdb"
    with Store.open(database) as store:
        for record in records:
            save_record(record, tmp_path)
        store.merge([tmp_path])
    wanted = [measured(batch, ago) for batch in (1, 8)]
    cells = [cell_of(vars(record)) for record in wanted]
    plan = a_plan(cells, SPEC)
    described = describe_repeat(plan, "process", database, EXAMPLE_HOST)
    expected = note and (
        note and f"{note} `orchestrator run --resume run-1` fills its gaps, this measures all again"
    )
    assert described == expected
    assert describe_repeat(plan, "docker", database, EXAMPLE_HOST) is None
    assert describe_repeat(plan, "process", tmp_path / "none.duckdb", EXAMPLE_HOST) is None
    assert describe_repeat(plan, "process", database, None) is None
