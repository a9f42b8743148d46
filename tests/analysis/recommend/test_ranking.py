"""Rankings: nothing is first unless intervals say so, and measurements go before predictions."""

import math
from dataclasses import replace
from typing import Any

import pytest

from analysis.recommend.candidates import (
    OBJECTIVES,
    Candidate,
    CandidateMachine,
    Figure,
    Objection,
    cost_figure,
    figure_outcome,
)
from analysis.recommend.choices import RankedCandidate, Requirements, choose_each, rank_candidates
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import Estimate, RatioOutcome
from tests.analysis.recommend.test_memory_fit import cell

MACHINE = CandidateMachine("id", "Example CPU", ("cpu",))


def figure(value: float, share: float = 0.05, **changes: Any) -> Figure:
    interval = Estimate(value, value * (1 - share), value * (1 + share))
    usual: dict[str, Any] = {"basis": "measured", "grade": "A"}
    return Figure(value, interval, **usual | changes)


def forecast(value: float, share: float = 0.3, *outside: str) -> Figure:
    return figure(value, share, basis="predicted", grade=None, outside=outside)


def ranked(*figures: Figure) -> list[RankedCandidate]:
    return [
        RankedCandidate(Candidate(cell(batch_size=number), MACHINE), one)
        for number, one in enumerate(figures, start=1)
    ]


def values(rows: tuple[RankedCandidate, ...]) -> list[float]:
    return [row.figure.value for row in rows]


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        (figure(10), figure(20), "better"),
        (figure(10), figure(10.5), "wide_interval"),
        (figure(10, 0.01), figure(10.1, 0.01), "equal"),
        (figure(10, 0.01, grade="C"), figure(10.1, 0.01), "grade_c"),
        (figure(10, grade="C"), figure(11.5), "grade_c"),
        (figure(10, grade="D"), figure(90), "grade_d"),
        (figure(10), forecast(12), "predicted"),
        (figure(10), forecast(30), "better"),
        (figure(10, 0.01), forecast(10.1, 0.01), "equal"),
        (figure(10, grade="D"), forecast(30), "grade_d"),
        (figure(10), forecast(900, 0.3, "batch size 64 is above 8"), "extrapolated"),
        (Figure(10, None, "measured", "A"), Figure(90, None, "measured", "A"), "no_interval"),
        (Figure(10, None, "measured", "A"), forecast(90), "better"),
    ],
)
def test_figures_differ_beyond_what_is_not_known_of_them(
    one: Figure, other: Figure, answer: str
) -> None:
    outcome = figure_outcome(one, other, more_is_better=False)
    assert (outcome.because or outcome.kind) == answer
    reverse = figure_outcome(other, one, more_is_better=False)
    assert (reverse.because or reverse.kind) == ("worse" if answer == "better" else answer)


def test_a_measured_candidate_goes_before_a_prediction_that_may_be_as_good() -> None:
    ranking = rank_candidates(ranked(forecast(9), figure(10), figure(30)), more_is_better=False)
    assert ranking is not None
    assert values((ranking.first,)) == [10]
    assert values(ranking.equals) == [9]
    assert values(ranking.others) == [30]
    assert not ranking.is_sure


def test_a_prediction_that_is_better_for_sure_is_first() -> None:
    ranking = rank_candidates(ranked(forecast(90), figure(10)), more_is_better=True)
    assert ranking is not None
    assert ranking.first.figure.value == 90
    assert ranking.is_sure


def test_extrapolations_stand_last_and_decide_nothing() -> None:
    wild = forecast(1, 0.3, "nothing was measured on this device")
    ranking = rank_candidates(ranked(wild, figure(10), figure(20)), more_is_better=False)
    assert ranking is not None
    assert values(ranking.rows) == [10, 20, 1]
    assert ranking.is_sure
    (alone,) = ranked(wild)
    only = rank_candidates([alone], more_is_better=False)
    assert only is not None
    assert (only.first, only.is_sure) == (alone, False)


def beside(name: str, value: float, price: float | None = None, **times: float) -> Figure:
    """A figure of grade D that is so many times as good as others, by rounds that hardly vary."""
    pairs = {
        other: PairedRatio(tuple(math.log(good) + step / 1_000 for step in (-1, 0, 1)), (3,))
        for other, good in times.items()
    }
    return figure(value, 0.3, grade="D", result_id=name, pairs=pairs, price=price)


def test_figures_that_were_measured_side_by_side_need_no_grade() -> None:
    one, other = beside("a", 10, b=1.2), beside("b", 11, a=1 / 1.2)
    there, back = (
        figure_outcome(*two, more_is_better=False) for two in ((one, other), (other, one))
    )
    assert (there, back) == (RatioOutcome("better", rounds=3), RatioOutcome("worse", rounds=3))
    alone = figure_outcome(one, beside("c", 90), more_is_better=False)
    assert (alone.because, alone.rounds) == ("grade_d", None)


def test_costs_are_compared_by_rounds_where_an_hour_costs_the_same() -> None:
    one, other = beside("a", 10, 3.6, b=1.2), beside("b", 11, 3.6, a=1 / 1.2)
    assert figure_outcome(one, other, more_is_better=False).kind == "better"
    dearer = figure_outcome(one, replace(other, price=7.2), more_is_better=False)
    assert (dearer.because, dearer.rounds) == ("grade_d", None)
    assert cost_figure(one, 3.6, cell()).pairs == one.pairs


@pytest.mark.parametrize(
    ("figures", "order", "is_sure"),
    [
        ((beside("a", 10, b=1.2), beside("b", 11, a=1 / 1.2)), [10, 11], True),
        # whatever the values say
        ((beside("a", 10, b=1 / 1.2), beside("b", 11, a=1.2)), [11, 10], True),
        ((beside("a", 10, b=1.01), beside("b", 11, a=1 / 1.01)), [10, 11], False),
        # one of grade A that was measured alone, and is no better
        ((beside("a", 10, b=1.2), beside("b", 11, a=1 / 1.2), figure(10.4)), [10.4, 10, 11], False),
        # each is worse than another
        (
            (
                beside("a", 10, b=1.2, c=1 / 1.2),
                beside("b", 11, a=1 / 1.2, c=1.2),
                beside("c", 12, a=1.2, b=1 / 1.2),
            ),
            [10, 11, 12],
            False,
        ),
    ],
)
def test_rounds_side_by_side_rank_candidates(
    figures: tuple[Figure, ...], order: list[float], is_sure: bool
) -> None:
    ranking = rank_candidates(ranked(*figures), more_is_better=False)
    assert ranking is not None
    assert values(ranking.rows) == order
    assert ranking.is_sure is is_sure


def test_costs_follow_from_throughput_and_its_interval() -> None:
    cost = cost_figure(figure(100, 0.1), 3.6, cell())
    assert cost.value == pytest.approx(10.0), "3.6 an hour for 100 a second"
    assert cost.interval is not None
    assert (cost.interval.low, cost.interval.high) == pytest.approx((10 / 1.1, 10 / 0.9))
    tokens = cost_figure(figure(100, 0.1), 3.6, cell(mode="generation", new_tokens=5))
    assert tokens.value == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("scopes", "kept", "reasons"),
    [
        ((None, None), [1, 2], set()),
        (("board", "package", "package"), [2, 3], {"joules of board, not package"}),
        (("board", "package"), [1], {"joules of package, not board"}),
        (("unknown", "unknown", "board"), [3], {"joules of unknown, not board"}),
        (("unknown", "unknown"), [1, 2], set()),
    ],
)
def test_joules_are_ranked_within_the_scope_of_most_candidates(
    scopes: tuple[str | None, ...], kept: list[int], reasons: set[str]
) -> None:
    known = ranked(*(figure(10 * n, scope=scope) for n, scope in enumerate(scopes, start=1)))
    (choice,) = choose_each(known, Requirements(OBJECTIVES["energy"]))
    assert choice.ranking is not None
    assert [row.candidate.cell.batch_size for row in choice.ranking.rows] == kept
    assert {one.objection.reason for one in choice.left_out} == reasons
    assert {one.objection.kind for one in choice.left_out} <= {"other_scope"}


@pytest.mark.parametrize(
    ("settings", "kept", "reasons"),
    [
        (("layout nhwc", "layout nchw", "layout nchw"), [2, 3], "layout nhwc, not layout nchw"),
        ((None, "layout nhwc", "layout nhwc"), [1, 2, 3], None),
    ],
)
def test_imports_are_ranked_within_the_settings_of_most(
    settings: tuple[str | None, ...], kept: list[int], reasons: str | None
) -> None:
    known = ranked(*(figure(10 * n, settings=one) for n, one in enumerate(settings, start=1)))
    (choice,) = choose_each(known, Requirements(OBJECTIVES["latency"]))
    assert choice.ranking is not None
    assert [row.candidate.cell.batch_size for row in choice.ranking.rows] == kept
    objections = [one.objection for one in choice.left_out]
    assert objections == (
        [Objection("other_settings", f"measured with {reasons}")] if reasons else []
    )
