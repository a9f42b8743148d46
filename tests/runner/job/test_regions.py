"""Times with and without the copies between host and device."""

from collections.abc import Callable

import pytest

from runner.backends.base import Region
from runner.contract.cell import Cell
from runner.inputs import Inputs
from runner.job.harness import LEAST_NS, LEAST_QUERIES, host_to_host_s, region_columns
from runner.measure.clock import NANOSECONDS
from tests.support.jobs import a_job
from tests.support.scene import Scene

CELL = a_job().cells[0]
GENERATING = CELL.model_copy(update={"mode": "generation"})
SERVED = CELL.model_copy(update={"scenario": "server"})


class Accelerated(Scene):
    """A session whose queries take four times as long with the copies."""

    def __init__(self, region: Region, trip_ns: int = NANOSECONDS // 25) -> None:
        super().__init__()
        self.region = region
        self.trips = 0
        self.trip_ns = trip_ns

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Callable[[], None]:
        del cell, inputs

        def query() -> None:
            self.trips += 1
            self.clock.pass_by(self.trip_ns)

        return query


@pytest.mark.parametrize(
    ("region", "cell", "expected"),
    [
        ("host", CELL, (0.01, 0.01)),
        ("device", CELL, (0.01, 0.04)),
        ("host_to_host", CELL, (None, 0.01)),
        ("device", GENERATING, None),
        ("host", SERVED, None),
    ],
)
def test_rows_of_all_devices_have_a_time_of_the_same_region(
    region: Region, cell: Cell, expected: tuple[float | None, float] | None
) -> None:
    scene = Accelerated(region)
    measured = host_to_host_s(scene.session, a_job(), cell, scene.clock)
    columns = region_columns(region, cell, 0.01, measured)
    if expected is None:
        assert (columns, scene.trips) == ({}, 0)
    else:
        assert columns["device_median_s"] == expected[0]
        assert columns["host_to_host_median_s"] == pytest.approx(expected[1])
        enough = 1 + max(LEAST_QUERIES, LEAST_NS * 25 // NANOSECONDS)
        assert scene.trips == (enough if region == "device" else 0)
