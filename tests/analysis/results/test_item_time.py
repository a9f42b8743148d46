"""The time of an item: of a sample, a start, a query or a peak, the same in Python and SQL."""

from typing import Any

import duckdb
import pytest

from analysis.results.row import item_estimate_ms, item_seconds_sql
from tests.support.results import a_row

_RATES = ("peak_qps", "peak_qps_low", "peak_qps_high")
_COLUMNS = ("mode", "scenario", "target_qps", "batch_size", *_RATES)
_PEAK = {"scenario": "server", "batch_size": 2}
_MEDIAN = {"latency_median_ms": 80.0, "latency_median_low_ms": 72.0, "latency_median_high_ms": 96.0}


@pytest.mark.parametrize(
    ("facts", "ends"),
    [
        ({"scenario": "single_stream", "batch_size": 8}, (9, 10, 12)),
        ({"scenario": "offline", "batch_size": 16}, (4.5, 5, 6)),
        ({"mode": "startup", "batch_size": 8}, (72, 80, 96)),
        ({"scenario": "server", "target_qps": 5.0, "batch_size": 8}, (72, 80, 96)),
        ({**_PEAK, "peak_qps": 100.0, "peak_qps_high": 125.0}, (4, 5, 5)),
        ({**_PEAK, "peak_qps": 100.0, "peak_qps_low": 80.0, "peak_qps_high": 125.0}, (4, 5, 6.25)),
        ({**_PEAK, "peak_qps": 100.0, "peak_qps_high": None}, None),
        ({**_PEAK, "peak_qps": None, "peak_qps_high": 125.0}, None),
        ({"latency_median_low_ms": None}, None),
    ],
)
def test_the_time_of_an_item_has_its_interval(
    facts: dict[str, Any], ends: tuple[float, float, float] | None
) -> None:
    row = a_row("cell", **_MEDIAN | facts)
    time = item_estimate_ms(row)
    assert (time and (time.low, time.value, time.high)) == (ends and pytest.approx(ends))
    in_sql = _in_sql({name: getattr(row, name) for name in (*_COLUMNS, *_MEDIAN)})
    if ends is None:
        assert None in in_sql
    else:
        assert in_sql == pytest.approx([end / 1000 for end in ends])


def _in_sql(facts: dict[str, Any]) -> list[float | None]:
    values = {
        name.replace("_ms", "_s"): value / 1000 if name in _MEDIAN and value else value
        for name, value in facts.items()
    }
    columns = ", ".join(f"${name} AS {name}" for name in values)
    time = item_seconds_sql("one")
    sql = f"SELECT {time['low']}, {time['time']}, {time['high']} FROM (SELECT {columns}) one"
    (row,) = duckdb.execute(sql, values).fetchall()
    return list(row)
