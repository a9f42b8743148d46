import json

import pytest

from orchestrator.app.measure.replay import Replay
from orchestrator.render.replay import print_replay
from orchestrator.store import Measurement
from tests.support.results import a_measurement

Capture = pytest.CaptureFixture[str]
THEN = a_measurement(latency_p90_ms=0.9, memory_mb=300.0)


def now(**changes: object) -> Measurement:
    return a_measurement(result_id="run-2/cell-1", memory_mb=330.0, **changes)


def shown(capsys: Capture, then: Measurement, again: Measurement) -> list[str]:
    print_replay(Replay(then, again), as_json=False)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_both_stand_side_by_side(capsys: Capture) -> None:
    lines = shown(capsys, THEN, now(latency_median_ms=1.62, latency_p90_ms=None))
    assert "then: run-1/cell-1" in lines
    assert "now: run-2/cell-1" in lines
    assert "metric then now ratio" in lines
    assert "median ms 0.81 1.62 2" in lines
    assert "p90 ms 0.9 – –" in lines
    assert "peak MB 300 330 1.1" in lines
    assert "correct yes yes" in lines
    assert "launcher docker docker" in lines
    assert not any(line.startswith(("p99", "tokens/s", "joules")) for line in lines)


def test_hashes_are_cut_and_the_rest_is_whole(capsys: Capture) -> None:
    lines = shown(capsys, THEN, now())
    assert f"image sha256:{'a' * 12} sha256:{'a' * 12}" in lines
    assert f"commit {'c' * 19} {'c' * 19}" in lines


@pytest.mark.parametrize(
    ("median", "low", "high", "sentence"),
    [
        (0.82, 0.81, 0.83, "overlap: no difference is shown."),
        (0.85, 0.82, 0.88, "overlap: no difference is shown."),
        (0.972, 0.96, 0.98, "do not overlap: now it takes 20.0 % more time."),
        (0.405, 0.40, 0.41, "do not overlap: now it takes 50.0 % less time."),
    ],
)
def test_one_sentence_tells_whether_the_medians_differ(
    capsys: Capture, median: float, low: float, high: float, sentence: str
) -> None:
    again = now(latency_median_ms=median, latency_median_low_ms=low, latency_median_high_ms=high)
    assert shown(capsys, THEN, again)[-1] == (f"The 95 % intervals of the two medians {sentence}")


def test_without_two_medians_nothing_is_compared(capsys: Capture) -> None:
    nothing = dict.fromkeys(name for name in vars(THEN) if name.startswith("latency"))
    failed = now(status="timeout", reason="not done after 5 s", **nothing)
    lines = shown(capsys, THEN, failed)
    assert lines[-2:] == [
        "now timeout: not done after 5 s",
        "There are no two medians with intervals to compare.",
    ]


def test_what_was_not_the_same_is_said(capsys: Capture) -> None:
    again = now(hostname="there", git_commit="d" * 40)
    lines = shown(capsys, THEN, again)
    assert "note: another host: here, now there" in lines
    assert f"note: another commit: {'c' * 40}, now {'d' * 40}" in lines
    assert not any(line.startswith("note: another image") for line in lines)


def test_a_grade_that_forbids_quoting_is_named(capsys: Capture) -> None:
    note = "note: grade D says not to quote such a number"
    assert note in shown(capsys, THEN, now(grade="D"))
    assert note not in shown(capsys, THEN, now(grade="C"))


def test_changes_that_nobody_committed_stay_visible(capsys: Capture) -> None:
    dirty = {"image": None, "image_digest": None, "git_commit": "c" * 40 + "-dirty"}
    lines = shown(capsys, a_measurement(**dirty), now(**dirty))
    assert f"commit {'c' * 19}-dirty {'c' * 19}-dirty" in lines
    assert "note: the checkout has uncommitted changes, so its runner may be another one" in lines


def test_as_json_it_is_whole(capsys: Capture) -> None:
    print_replay(Replay(THEN, now()), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["then"]["result_id"], data["now"]["result_id"]) == (
        "run-1/cell-1",
        "run-2/cell-1",
    )
    assert (data["ratio"], data["intervals_overlap"], data["differences"]) == (1.0, True, [])
    assert "job" not in data["then"]
