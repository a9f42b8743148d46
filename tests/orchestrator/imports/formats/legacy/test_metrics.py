"""Keys that name a quantity and its unit."""

import pytest

from orchestrator.imports.formats.legacy.entry import Entry
from orchestrator.imports.formats.legacy.metrics import columns_of, has_metric
from orchestrator.imports.found import Found
from orchestrator.imports.reading import NotReadable


def test_every_column_is_one_of_ours() -> None:
    assert columns_of(Entry({}, "/x")).keys() <= Found.model_fields.keys()


def test_milliseconds_and_mebibytes_are_converted_exactly() -> None:
    entry = Entry({"p95_latency_ms": 19.1, "max_memory_allocated": 1.5, "load_time_ms": "7"}, "/x")
    columns = {name: value for name, value in columns_of(entry).items() if value is not None}
    assert columns == {
        "latency_p95_s": 0.0191,
        "memory_allocator_peak_bytes": 1572864,
        "load_time_s": 0.007,
    }


def test_a_quantity_that_is_told_twice_is_taken_once() -> None:
    entry = Entry({"latency_ms": 3, "avg_latency_ms": 2}, "/x")
    assert columns_of(entry)["latency_mean_s"] == 0.002
    assert entry.details() == {"latency_ms": "3"}


def test_text_where_a_number_belongs_is_told() -> None:
    with pytest.raises(NotReadable, match="/x/throughput: 'high' is not a number"):
        columns_of(Entry({"throughput": "high"}, "/x"))


def test_whether_there_is_a_quantity() -> None:
    assert has_metric({"latency_ms": None})
    assert not has_metric({"name": "bert"})
    assert not has_metric([])
