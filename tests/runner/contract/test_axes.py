"""An axis is one row: what names every axis follows the table, and few files name one by hand."""

import pytest

from orchestrator.store import Filters, StoredRecord
from orchestrator.store.schema.views import PERFORMANCE
from runner.contract.axes import (
    AXIS_NAMES,
    COUNT_AXES,
    SIZE_AXES,
)
from runner.contract.record import Record


@pytest.mark.parametrize(
    ("fields", "axes"),
    [
        (Record.model_fields, AXIS_NAMES),
        (StoredRecord.model_fields, AXIS_NAMES),
        ([column.name for column in PERFORMANCE.columns], AXIS_NAMES),
        (Filters.__annotations__, (*SIZE_AXES, *COUNT_AXES)),
    ],
)
def test_records_views_and_filters_hold_every_axis(
    fields: dict[str, object], axes: list[str]
) -> None:
    assert set(axes) <= set(fields)
