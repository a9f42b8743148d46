import threading
from collections.abc import Callable, Sequence

import pytest

from runner.contract.errors import Unavailable
from runner.contract.rounds import Energy
from runner.measure.energy import EnergyMeter, energy_meter
from runner.measure.vendors.counter import Counter
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


def test_energy_is_the_difference_of_two_readings() -> None:
    energy = Bench(("gpu", 0.1, None)).measure(2, gpu=500)
    assert energy.joules == 500
    assert energy.window_s == pytest.approx(2)
    assert energy.method == "measured: gpu"


def test_counters_add_up() -> None:
    energy = Bench(("cpu", 0.001, None), ("dram", 0.001, None)).measure(1, cpu=30, dram=12)
    assert energy.joules == 42
    assert energy.method == "measured: cpu + dram"


def test_a_window_shorter_than_ten_periods_gives_no_number() -> None:
    energy = Bench(("cpu", 0.001, None), ("gpu", 0.1, None)).measure(0.4, cpu=8, gpu=80)
    assert energy.joules is None
    assert energy.window_s == pytest.approx(0.4)
    assert energy.method == (
        "unavailable: window 0.4 s is shorter than ten counter periods of 0.1 s"
    )


def test_ten_periods_are_enough() -> None:
    assert Bench(("gpu", 0.1, None)).measure(1.0, gpu=80).joules == 80


def test_a_counter_that_wrapped_once_is_followed() -> None:
    assert Bench(("cpu", 0.001, 65_536)).measure(60, cpu=-36).joules == 65_500


def test_a_counter_that_may_have_wrapped_twice_gives_no_number() -> None:
    energy = Bench(("cpu", 0.001, 65_536)).measure(66, cpu=20)
    assert energy.joules is None
    assert energy.method == "unavailable: cpu may have wrapped more than once in 66 s"


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


@pytest.mark.parametrize("gain", [0, -5])
def test_a_counter_that_does_not_advance_gives_no_number(gain: float) -> None:
    energy = Bench(("gpu", 0.1, None)).measure(2, gpu=gain)
    assert energy.joules is None
    assert energy.method == "unavailable: gpu did not advance in 2 s"


def test_a_meter_can_be_used_again() -> None:
    bench = Bench(("gpu", 0.1, None))
    assert [bench.measure(2, gpu=gain).joules for gain in (5, 7)] == [5, 7]


@pytest.mark.parametrize("error", [Unavailable("no driver"), OSError("no driver")])
def test_where_there_is_no_counter_the_reason_is_given(error: Exception) -> None:
    def find() -> list[Counter]:
        raise error

    meter = EnergyMeter(find, FakeClock())
    meter.start()
    assert meter.stop() == Energy(joules=None, window_s=None, method="unavailable: no driver")


@pytest.mark.parametrize("readings", [(RuntimeError("lost"),), (1.0, RuntimeError("lost"))])
def test_a_reading_that_fails_is_a_reason_not_an_error(
    readings: tuple[float | Exception, ...],
) -> None:
    meter = EnergyMeter(failing(*readings), FakeClock())
    meter.start()
    assert meter.stop() == Energy(joules=None, window_s=None, method="unavailable: lost")


def test_a_reading_that_failed_once_is_forgotten() -> None:
    meter = EnergyMeter(failing(RuntimeError("lost"), 2.0, 5.0), FakeClock())
    meter.start()
    meter.stop()
    meter.start()
    assert meter.stop().joules == 3


def test_no_counters_are_a_reason() -> None:
    meter = EnergyMeter(list, FakeClock())
    meter.start()
    assert meter.stop().method == "unavailable: no counter was found"


def test_an_error_without_words_is_named() -> None:
    meter = EnergyMeter(failing(KeyError()), FakeClock())
    meter.start()
    assert meter.stop().method == "unavailable: KeyError"


def test_a_backend_whose_hardware_has_no_counter_is_named() -> None:
    meter = energy_meter("qnn")
    meter.start()
    assert meter.stop().method == "unavailable: no energy counter is known for the backend qnn"


@pytest.mark.parametrize("backend", ["cpu", "cuda", "rocm", "mps", "openvino", "wasm", "fake"])
def test_every_backend_gets_joules_or_a_reason(backend: str) -> None:
    meter = energy_meter(backend)  # type: ignore[arg-type]
    meter.start()
    energy = meter.stop()
    assert (energy.joules is None) == energy.method.startswith("unavailable: ")
