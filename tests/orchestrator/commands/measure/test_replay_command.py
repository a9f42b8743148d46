import json

import pytest

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace

CELL = "fake-scripted-0-fp32-b1-s8-inference"


def test_an_unknown_result_is_told_with_the_nearest(measured: Workplace) -> None:
    before = files(measured.folder)
    nearest = f"did you mean {measured.run_folder.name}/{CELL}?"
    complains(measured.do("replay", f"last/{CELL}x"), 2, "is not a result in", nearest)
    complains(measured.do("replay", "nonsense"), 2, "'nonsense' is not a result in")
    assert files(measured.folder) == before


def test_without_a_database_nothing_can_be_replayed(place: Workplace) -> None:
    complains(place.do("replay", f"last/{CELL}"), 6, "there is no database yet")
    assert not (place.folder / "results").exists()


@pytest.mark.slow
def test_results_and_replays_go_where_they_are_sent(place: Workplace) -> None:
    done = place.run("--results", "elsewhere", "--database", "my.duckdb")
    assert (done.returncode, (place.folder / "my.duckdb").exists()) == (0, True)
    assert len(list(place.folder.glob("elsewhere/*/run.json"))) == 1
    done = place.do(
        *("--quiet", "replay", f"last/{CELL}", "--json"),
        *("--results", "elsewhere", "--database", "my.duckdb"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["now"]["status"] == "ok"
    assert len(list(place.folder.glob("elsewhere/*/run.json"))) == 2
    assert not (place.folder / "results").exists()


def test_verdicts_without_a_launch_cannot_be_repeated(place: Workplace) -> None:
    place.run("--budget", "0s")
    complains(place.do("replay", f"last/{CELL}"), 2, "nothing was launched for it", "budget")
