from runner.measure.caveats import caveats
from runner.measure.environment import read_environment
from runner.measure.phases import WarmUp
from runner.measure.statistics import summarise
from tests.jobs import FAST

QUIET = summarise([1000] * 100, 1)
WARM = WarmUp([1000] * 6, settled=True)
HERE = read_environment()


def test_a_quiet_measurement_has_none() -> None:
    environment = type(HERE)(**vars(HERE) | {"cpu_governor": "performance"})
    assert caveats(QUIET, WARM, FAST, environment, load=0) == []


def test_each_doubt_comes_with_its_remedy() -> None:
    environment = type(HERE)(**vars(HERE) | {"cpu_governor": "powersave", "cpu_cores_logical": 2})
    few = FAST.model_copy(update={"iterations": 50})
    noisy = summarise([1000, 3000], 1)
    found = caveats(noisy, WarmUp([1], settled=False), few, environment, load=3.14)
    assert [text.split(":")[0] for text in found] == [
        "the warm-up did not settle in 1 iterations",
        "2 of 50 iterations fitted into 30 s",
        "host load 3.1 on 2 cores",
        "the CPU governor is powersave",
        "cv 71%",
    ]
    assert all(": " in text for text in found)
