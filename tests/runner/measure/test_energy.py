import threading
from collections.abc import Callable, Sequence

import pytest

from runner.contract.errors import Unavailable
from runner.contract.rounds import Energy
from runner.measure.energy import EnergyDevice, EnergyMeter, energy_meter
from runner.measure.vendors.base import Counter
from tests.support.fakes import FakeClock

SECOND = 1_000_000_000


class Bench:
    """A meter over counters and a clock that a test moves."""

    def __init__(self, *counters: tuple[str, float, float | None]) -> None:
        self.clock = FakeClock()
        self.joules = {name: 100.0 for name, _, _ in counters}
        self.counters = [
            Counter(name, period_s, self._reader(name), wraps_at_j)
            for name, period_s, wraps_at_j in counters
        ]

    def measure(self, seconds: float, **gains: float) -> Energy:
        """The energy of a window in which the counters advance by that much."""
        meter = EnergyMeter(lambda: self.counters, self.clock)
        meter.start()
        self.clock.pass_by(round(seconds * SECOND))
        for name, gain in gains.items():
            self.joules[name] += gain
        return meter.stop()

    def _reader(self, name: str) -> Callable[[], float]:
        return lambda: self.joules[name]


def failing(*readings: float | Exception) -> Callable[[], Sequence[Counter]]:
    """A counter that gives these in turn, or raises them."""
    rest = iter(readings)

    def read() -> float:
        reading = next(rest)
        if isinstance(reading, Exception):
            raise reading
        return reading

    return lambda: [Counter("frail", 0.0, read)]


CPU, DRAM, GPU = ("cpu", 0.001, None), ("dram", 0.001, None), ("gpu", 0.1, None)
WRAPS = ("cpu", 0.001, 65_536)
SHORT = "unavailable: window 0.4 s is shorter than ten counter periods of 0.1 s"
TWICE = "unavailable: cpu may have wrapped more than once in 66 s"
STILL = "unavailable: gpu did not advance in 2 s"


@pytest.mark.parametrize(
    ("counters", "seconds", "gains", "joules", "method"),
    [
        ([GPU], 2, {"gpu": 500}, 500, "measured: gpu"),
        ([CPU, DRAM], 1, {"cpu": 30, "dram": 12}, 42, "measured: cpu + dram"),
        ([CPU, GPU], 0.4, {"cpu": 8, "gpu": 80}, None, SHORT),
        ([GPU], 1.0, {"gpu": 80}, 80, "measured: gpu"),
        ([WRAPS], 60, {"cpu": -36}, 65_500, "measured: cpu"),
        ([WRAPS], 66, {"cpu": 20}, None, TWICE),
        ([GPU], 2, {"gpu": 0}, None, STILL),
        ([GPU], 2, {"gpu": -5}, None, STILL),
    ],
    ids=["one", "sum", "short", "ten periods", "wrapped once", "maybe twice", "still", "back"],
)
def test_energy_is_the_difference_of_two_readings_or_has_a_reason(
    counters: list[tuple[str, float, float | None]],
    seconds: float,
    gains: dict[str, float],
    joules: float | None,
    method: str,
) -> None:
    energy = Bench(*counters).measure(seconds, **gains)
    assert (energy.joules, energy.method) == (joules, method)
    assert energy.scope == (None if joules is None else "device")
    assert energy.window_s == pytest.approx(seconds)


def test_a_long_window_is_followed_from_wrap_to_wrap() -> None:
    bench = Bench(("cpu", 0.001, 65_536))
    meter = EnergyMeter(lambda: bench.counters, bench.clock)
    meter.start()
    for _ in range(5):
        bench.clock.pass_by(60 * SECOND)
        bench.joules["cpu"] = (bench.joules["cpu"] + 40_000) % 65_536
        meter.follow()
    energy = meter.stop()
    assert energy.joules == pytest.approx(200_000)
    assert energy.window_s == pytest.approx(300)


def test_counters_that_wrap_are_read_in_between_without_being_asked() -> None:
    read = threading.Semaphore(0)

    def count() -> float:
        read.release()
        return 1.0

    meter = EnergyMeter(lambda: [Counter("cpu", 0.0, count, wraps_at_j=1.0)])
    meter.start()
    assert all(read.acquire(timeout=30) for _ in range(4))
    meter.stop()


def raising(error: Exception) -> Callable[[], Sequence[Counter]]:
    def find() -> list[Counter]:
        raise error

    return find


@pytest.mark.parametrize(
    ("meter", "reason"),
    [
        (EnergyMeter(raising(Unavailable("no driver")), FakeClock()), "no driver"),
        (EnergyMeter(raising(OSError("no driver")), FakeClock()), "no driver"),
        (EnergyMeter(failing(RuntimeError("lost")), FakeClock()), "lost"),
        (EnergyMeter(failing(1.0, RuntimeError("lost")), FakeClock()), "lost"),
        (EnergyMeter(failing(KeyError()), FakeClock()), "KeyError"),
        (EnergyMeter(list, FakeClock()), "no counter was found"),
        (energy_meter("qnn"), "no energy counter is known for the backend qnn"),
    ],
    ids=["driver", "os", "first reading", "last reading", "wordless", "none", "backend"],
)
def test_where_nothing_can_be_counted_the_reason_is_given(meter: EnergyMeter, reason: str) -> None:
    meter.start()
    assert meter.stop() == Energy(joules=None, window_s=None, method=f"unavailable: {reason}")


@pytest.mark.parametrize("backend", ["cpu", "cuda", "rocm", "mps", "openvino", "wasm", "fake"])
def test_every_backend_gets_joules_or_a_reason(backend: str) -> None:
    meter = energy_meter(backend)  # type: ignore[arg-type]
    meter.start()
    energy = meter.stop()
    assert (energy.joules is None) == energy.method.startswith("unavailable: ")


def test_the_scope_names_each_part_once_and_what_feeds_the_device_is_a_number_of_its_own() -> None:
    clock, joules = FakeClock(), {"board": 100.0, "package": 50.0}

    def counters(*parts: str) -> list[Counter]:
        return [Counter(part, 0.1, lambda part=part: joules[part], part=part) for part in parts]

    meter = EnergyMeter(
        lambda: counters("board", "board"),
        clock,
        beside=EnergyMeter(lambda: counters("package"), clock),
    )
    meter.start()
    clock.pass_by(2 * SECOND)
    joules |= {"board": 300.0, "package": 58.0}
    energy = meter.stop()
    assert (energy.joules, energy.scope, energy.host_joules) == (400, "board", 8)


def test_openvino_on_a_card_never_counts_the_processor() -> None:
    meter = energy_meter("openvino", device=EnergyDevice(is_discrete=True))
    meter.start()
    assert "no counter of the discrete Intel GPU ?" in meter.stop().method
