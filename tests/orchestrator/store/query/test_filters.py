"""Filters keep what fits all of them, and refuse names and values that fit nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store.query.filters import Filters
from orchestrator.store.schema.views import PERFORMANCE
from orchestrator.store.store import Store
from runner.contract.errors import UsageError
from runner.contract.record.files import save_record
from tests.orchestrator.store.conftest import Save
from tests.support.records import RECORDED_AT, a_failure, a_record

LATER = RECORDED_AT + timedelta(days=1)
ONE, EIGHT, GPT2, BF16 = (
    "cpu-bert-tiny-fp32-b1-s128-inference",
    "cpu-bert-tiny-fp32-b8-s128-inference",
    "cpu-gpt2-fp32-b1-s128-inference",
    "cpu-bert-tiny-bf16-b1-s128-inference",
)
FAILED, UNPROVEN, WRONG = (
    "cpu-bert-tiny-fp32-b512-s128-inference",
    "cpu-bert-tiny-fp32-b2-s128-inference",
    "cpu-bert-tiny-fp32-b4-s128-inference",
)
SOUND = {ONE, EIGHT, GPT2, BF16}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("results")
    for record in (
        a_record(),
        a_record(batch_size=8, recorded_at=LATER, run_id="later"),
        a_record(model="gpt2", hostname="other-host"),
        a_record(precision="bf16", grade="B"),
        a_failure("out_of_memory", "killed at 2 GB", batch_size=512),
        a_record(batch_size=2, proof="none"),
        a_record(batch_size=4, correct=False),
    ):
        save_record(record, folder)
    with Store.open(folder / "benchmarks.duckdb") as store:
        store.merge([folder])
    with Store.open_readonly(folder / "benchmarks.duckdb") as store:
        yield store


def kept(store: Store, **filters: Any) -> set[str]:
    return {record.cell_id for record in store.records(**filters)}


def test_without_a_filter_everything_that_may_be_quoted_is_kept(store: Store) -> None:
    assert kept(store) == SOUND
    assert kept(store, trusted=False) == SOUND | {FAILED, UNPROVEN, WRONG}


@pytest.mark.representatives(7)
@pytest.mark.parametrize(
    ("filters", "cells"),
    [
        ({"model": "gpt2"}, {GPT2}),
        ({"model": ["gpt2", "bert-tiny"]}, SOUND),
        ({"model": {"gpt2"}, "precision": "bf16"}, set()),
        ({"model": []}, set()),
        ({"model": "bert-base-uncased"}, set()),
        ({"precision": ("bf16", "int8")}, {BF16}),
        ({"backend": "cuda"}, set()),
        ({"batch_size": 8}, {EIGHT}),
        ({"batch_size": range(2, 9)}, {EIGHT}),
        ({"hostname": "other-host"}, {GPT2}),
        ({"hardware": "Example CPU"}, SOUND),
        ({"run_id": "later"}, {EIGHT}),
        ({"grade": "B"}, {BF16}),
        ({"since": LATER}, {EIGHT}),
        ({"until": LATER}, SOUND - {EIGHT}),
        ({"since": RECORDED_AT, "until": RECORDED_AT}, set()),
        ({"select": "*-b8-*"}, {EIGHT}),
        ({"select": ["cpu-bert-*", "!*-bf16-*"]}, {ONE, EIGHT}),
        ({"select": "cuda-*"}, set()),
        ({"status": "out_of_memory", "trusted": False}, {FAILED}),
        ({"proof": ["none"], "status": "ok", "trusted": False}, {UNPROVEN}),
        ({"status": ["ok", "failed"]}, SOUND),
    ],
    ids=str,
)
def test_what_fits_every_filter_is_kept(
    store: Store, filters: dict[str, Any], cells: set[str]
) -> None:
    assert kept(store, **filters) == cells


@pytest.mark.parametrize(
    ("filters", "message", "hint"),
    [
        ({"modle": "gpt2"}, "no filter 'modle'; did you mean model", "filters are model"),
        ({"model": "bert-tinny"}, "model='bert-tinny'.*; did you mean bert-tiny", "DISTINCT"),
        ({"backend": "cdua"}, "backend='cdua'.*; did you mean cuda", "DISTINCT"),
        ({"precision": ["fp32", "fp17"]}, "precision='fp17'.*; did you mean fp16", "DISTINCT"),
        ({"run_id": "latre"}, "run_id='latre'.*; did you mean later", "DISTINCT"),
        ({"hostname": "zzz"}, "hostname='zzz': nothing in this database has it$", "DISTINCT"),
        ({"status": "failed"}, "status='failed': no trusted result has", "trusted=False"),
        ({"proof": ["none"]}, "no trusted result has that proof", "trusted=False"),
        ({"source": "timm", "model": "gpt2"}, "source='timm': nothing in this", "DISTINCT"),
        ({"model": 7}, "model=7: is not text", None),
        ({"model": None}, "model=None: is not text", None),
        ({"batch_size": "8"}, "batch_size='8': is not a whole number", None),
        ({"batch_size": True}, "batch_size=True: is not a whole number", None),
        ({"since": "2026-11-21"}, "since='2026-11-21': is not a datetime", None),
        ({"since": datetime(2026, 11, 21)}, "since=.*: has no time zone", "tzinfo=UTC"),
        ({"select": "!"}, "a glob must not be empty", "--select"),
    ],
    ids=str,
)
def test_what_can_fit_nothing_is_refused_at_once(
    store: Store, filters: dict[str, Any], message: str, hint: str | None
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        store.records(**filters)
    assert (hint or "") in (caught.value.hint or "")


def test_words_that_only_this_database_has_are_known(
    database: Path, results: Path, save: Save
) -> None:
    save(a_record(model="my-own"))
    with Store.open(database) as store:
        store.merge([results])
        assert len(kept(store, model="my-own")) == 1


def test_a_time_of_another_zone_is_the_same_moment(store: Store) -> None:
    assert kept(store, since=LATER.astimezone(UTC)) == {EIGHT}


def test_every_filter_is_a_column_of_the_view() -> None:
    columns = {column.name for column in PERFORMANCE.columns}
    assert set(Filters.__annotations__) - {"since", "until", "select"} <= columns
