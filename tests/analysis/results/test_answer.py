"""Comparisons of results: who is fastest, and what keeps others from being compared."""

import math
from typing import Any

import pytest
from hypothesis import strategies as st

from analysis.results.answer import Comparison, comparisons, order_results
from analysis.results.paired import PairedRatios
from analysis.results.row import ResultRow
from analysis.results.trust import Cause, Neighbour, changes, doubt_contradictions, summarise_grades
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import ratio_outcome
from runner.contract.record.verdict import Doubt, doubt
from tests.support.properties import property_test
from tests.support.results import a_neighbour, a_row


def timed(cell_id: str, median_ms: float, share: float = 0.01, **changes: Any) -> ResultRow:
    """A result with a symmetric interval."""
    ends = {
        "latency_median_ms": median_ms,
        "latency_median_low_ms": median_ms * (1 - share),
        "latency_median_high_ms": median_ms * (1 + share),
    }
    return a_row(cell_id, **ends | changes)


def is_sound(row: ResultRow) -> bool:
    return row.correct is not False and row.grade != "D"


def only(rows: list[ResultRow]) -> Comparison:
    (comparison,) = comparisons(rows)
    return comparison


@st.composite
def runs(draw: st.DrawFn) -> list[ResultRow]:
    """Results of a few questions, good and bad."""
    return [
        timed(
            f"cell-{number}",
            draw(st.floats(0.1, 1e4)),
            draw(st.floats(0.0, 0.5)),
            model=draw(st.sampled_from(["bert-tiny", "gpt2"])),
            mode=draw(st.sampled_from(["inference", "training", "startup"])),
            batch_size=draw(st.sampled_from([1, 8])),
            grade=draw(st.sampled_from("ABCD")),
            correct=draw(st.sampled_from([True, False, None])),
            proof=draw(st.sampled_from(["proven", "none"])),
            status="ok",
        )
        for number in range(draw(st.integers(0, 8)))
    ]


@property_test(1000, runs())
def test_an_answer_claims_no_more_than_its_ratios_show(rows: list[ResultRow]) -> None:
    for comparison in comparisons(rows):
        ranking = comparison.fastest
        comparable = [row for row in comparison.rows if row.proof == "proven" and is_sound(row)]
        groups = (*comparison.undecided.values(), *comparison.excluded.values())
        excluded = [row for group in groups for row in group]
        assert comparison.rows == (*comparable, *excluded)
        assert (ranking is not None) == (len(comparable) > 1)
        if ranking is None:
            continue
        assert ranking.first is comparable[0]
        for lead in (*ranking.equals, *ranking.undecided, *filter(None, [ranking.next])):
            worse = max(str(ranking.first.grade), str(lead.behind.grade))
            assert ratio_outcome(lead.ratio, worse).kind == lead.outcome.kind  # type: ignore[arg-type]
        if ranking.next:
            assert ranking.next.ratio.low > 1


@property_test(500, runs(), st.floats(0.01, 100))
def test_the_answer_does_not_depend_on_the_order_of_rows_nor_on_the_unit(
    rows: list[ResultRow], unit: float
) -> None:
    def firsts(some: list[ResultRow]) -> set[str]:
        return {one.fastest.first.cell_id for one in comparisons(some) if one.fastest}

    scaled = [
        timed(
            **{
                name: value for name, value in vars(row).items() if not name.startswith("latency_m")
            },
            median_ms=(row.latency_median_ms or 0) * unit,
        )
        for row in rows
    ]
    distinct = len({(row.latency_median_ms or 0) / row.batch_size for row in rows}) == len(rows)
    if distinct:
        assert firsts(rows) == firsts(rows[::-1]) == firsts(scaled)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"model": "gpt2"}, {}),
        ({"sequence_length": 64}, {}),
        ({"mode": "training"}, {}),
        ({"scenario": "server", "target_qps": 5.0}, {"scenario": "server", "target_qps": 9.0}),
        ({"mode": "startup"}, {"mode": "startup", "batch_size": 8}),
    ],
)
def test_other_work_is_another_question(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert len(comparisons([timed("a", 1, **one), timed("b", 1, **other)])) == 2


def test_batches_compare_by_the_time_of_a_sample() -> None:
    ranking = only([timed("b1", 2.0), timed("b8", 4.0, batch_size=8)]).fastest
    assert ranking is not None
    assert (ranking.first.cell_id, ranking.next and ranking.next.ratio.value) == ("b8", 4.0)


def test_the_shortest_query_is_named_where_batches_differ_for_certain() -> None:
    comparison = only([timed("b1", 2.0), timed("b8", 4.0, batch_size=8)])
    assert comparison.shortest is not None
    assert comparison.shortest.first.cell_id == "b1"
    assert only([timed("b1", 3.9), timed("b8", 4.0, batch_size=8)]).shortest is None
    assert only([timed("b1", 2.0), timed("c1", 4.0, precision="int8")]).shortest is None


@pytest.mark.parametrize(("unknown_ms", "is_told"), [(1.0, False), (3.0, True)])
def test_no_query_is_the_shortest_beside_one_that_decides_nothing(
    unknown_ms: float, is_told: bool
) -> None:
    rows = [timed("b1", 2.0), timed("b8", 4.0, batch_size=8)]
    unknown = timed("d1", unknown_ms, grade="D", runtime="openvino")
    assert (only([*rows, unknown]).shortest is not None) == is_told


def side_by_side(**times: tuple[float, float]) -> PairedRatios:
    """Ratios of `one_other`, with what its three rounds vary by, in both directions."""
    known: dict[tuple[str, str], PairedRatio] = {}
    for names, (ratio, spread) in times.items():
        one, _, other = names.partition("_")
        values = tuple(math.log(ratio) + spread * step for step in (-1, 0, 1))
        known[one, other] = PairedRatio(values, (3,))
        known[other, one] = known[one, other].inverse
    return known


SURE, UNSURE = 0.001, 0.5


@pytest.mark.parametrize(
    ("pairs", "first", "equals", "undecided", "following"),
    [
        ({}, "a", "", "", "b"),  # by grades
        ({"b_a": (1.5, SURE)}, "a", "", "", "b"),
        ({"b_a": (0.9, SURE)}, "b", "", "", "a"),  # whatever the medians say
        ({"b_a": (1.01, SURE)}, "a", "b", "", "c"),
        ({"b_a": (0.99, SURE)}, "b", "a", "", "c"),
        ({"b_a": (0.9, UNSURE)}, "a", "", "b", "c"),
        # One that is behind the second and level with the first may not come first for it.
        ({"b_a": (1.3, UNSURE), "c_a": (0.9, SURE), "c_b": (1.1, SURE)}, "b", "", "a", "c"),
        # Each is behind another: the medians say who is first.
        ({"b_a": (0.9, SURE), "c_b": (0.9, SURE), "a_c": (0.9, SURE)}, "a", "", "", "b"),
    ],
)
def test_rounds_side_by_side_decide_before_medians(
    pairs: dict[str, tuple[float, float]], first: str, equals: str, undecided: str, following: str
) -> None:
    rows = [timed("a", 1.0), timed("b", 1.3, precision="bf16"), timed("c", 1.9, precision="int8")]
    (comparison,) = comparisons(rows, side_by_side(**pairs))
    ranking = comparison.fastest
    assert ranking is not None
    assert ranking.first.cell_id == first
    assert " ".join(lead.behind.cell_id for lead in ranking.equals) == equals
    assert " ".join(lead.behind.cell_id for lead in ranking.undecided) == undecided
    assert ranking.next is not None
    assert ranking.next.behind.cell_id == following
    for lead in (*ranking.equals, *ranking.undecided, ranking.next):
        beside = {f"{lead.behind.cell_id}_{first}", f"{first}_{lead.behind.cell_id}"}
        assert lead.outcome.rounds == (3 if beside & pairs.keys() else None)


def test_models_are_one_question_if_they_were_measured_side_by_side() -> None:
    rows = [
        timed("a", 1.0, model="bert-micro", precision="int8"),
        timed("b", 2.0, model="bert-tiny", precision="fp32"),
        timed("c", 3.0, model="bert-tiny", precision="int8"),
    ]
    assert len(comparisons(rows)) == 2
    (comparison,) = comparisons(rows, side_by_side(b_a=(2.0, SURE), c_a=(3.0, SURE)))
    assert comparison.fastest is not None
    assert comparison.fastest.first.cell_id == "a"
    assert comparison.fastest.next is not None
    assert (comparison.fastest.next.behind.cell_id, comparison.fastest.next.outcome.rounds) == (
        "b",
        3,
    )
    assert comparison.reference is None  # fp32 of another model is none
    apart = timed("d", 1.0, model="bert-micro", sequence_length=64)
    assert len(comparisons([*rows, apart], side_by_side(b_a=(2.0, SURE)))) == 2


def test_grade_d_beside_another_than_the_first_decides_nothing() -> None:
    rows = [timed("a", 1.0), timed("b", 1.5, precision="bf16", grade="D"), timed("c", 1.9)]
    rows = [*rows, timed("d", 2.5, precision="int8")]
    (comparison,) = comparisons(rows, side_by_side(b_d=(0.5, SURE), d_a=(2.4, SURE)))
    assert [row.cell_id for row in comparison.rows] == [*"acdb"]
    assert [row.cell_id for row in comparison.undecided["grade_d"]] == ["b"]
    assert comparison.fastest is not None
    assert comparison.fastest.first.cell_id == "a"
    assert not comparison.fastest.undecided


def test_results_of_grade_d_take_part_by_their_rounds_and_faults_by_none() -> None:
    pairs = side_by_side(b_a=(1.5, SURE), c_a=(0.5, SURE), d_a=(0.4, SURE))
    rows = [
        timed("a", 1.0, grade="D"),
        timed("b", 1.1, grade="D", precision="bf16"),
        timed("c", 0.5, precision="int8", correct=False),
        timed("d", 0.4, precision="fp16", proof="none"),
        timed("e", 9.0, grade="D", backend="cuda"),
    ]
    (comparison,) = comparisons(rows, pairs)
    ranking = comparison.fastest
    assert ranking is not None
    assert (ranking.first.cell_id, ranking.next and ranking.next.behind.cell_id) == ("a", "b")
    assert [row.cell_id for row in comparison.undecided["grade_d"]] == ["e"]
    assert [row.cell_id for row in order_results(rows[::-1], pairs=pairs)] == [*"abedc"]
    excluded = [row.cell_id for rows in comparison.excluded.values() for row in rows]
    assert sorted(excluded) == ["c", "d"]


PEAK = {"scenario": "server", "target_qps": None, "slo_ms": 100.0}


def test_peaks_compare_by_the_brackets_of_their_searches() -> None:
    ends = [(100.0, 109.0), (103.0, 106.0), (92.0, 99.0), (80.0, 88.0)]
    rows = [timed(f"q{low:g}", 9.0, peak_qps=low, peak_qps_high=high, **PEAK) for low, high in ends]
    ranking = only(rows).fastest
    assert ranking is not None
    assert ranking.first.cell_id == "q103"
    assert [lead.behind.cell_id for lead in ranking.undecided] == ["q100", "q92"]
    assert ranking.equals == ()
    assert ranking.next is not None
    assert ranking.next.behind.cell_id == "q80"


def earlier(median_ms: float, **changes: Any) -> Neighbour:
    return a_neighbour(timed("cell", median_ms), **changes)


def offline(median_ms: float, batch_size: int) -> ResultRow:
    return timed("cell", median_ms, scenario="offline", batch_size=batch_size)


def peak(median_ms: float, low: float, high: float) -> ResultRow:
    return timed("cell", median_ms, peak_qps=low, peak_qps_high=high, **PEAK)


@pytest.mark.parametrize(
    ("now", "then", "grade"),
    [
        (timed("cell", 100), earlier(102), None),
        (timed("cell", 100, grade="C"), earlier(110), None),
        (timed("cell", 100, grade="D"), earlier(190), None),
        (timed("cell", 100, grade="D"), earlier(900), "D"),
        (timed("other", 100), earlier(900), None),
        (timed("cell", 100), earlier(110), "D"),
        (timed("cell", 100), earlier(110, same_software=False), "B"),
        (offline(200, 64), a_neighbour(offline(100, 32)), None),
        (offline(150, 64), a_neighbour(offline(100, 32)), "D"),
        (offline(200, 32), a_neighbour(offline(100, 32)), "D"),
        (peak(9, 100, 104), a_neighbour(peak(30, 102, 107)), None),
        (peak(9, 100, 104), a_neighbour(peak(9, 150, 156)), "D"),
        (peak(9, 100, 104), a_neighbour(timed("cell", 30, peak_qps=None, **PEAK)), None),
    ],
    ids=[
        *("within", "coarse", "D", "D by far", "other cell", "contradicts", "other software"),
        *("other batch, same speed", "other batch, slower", "same batch, slower"),
        *("brackets overlap", "other peak", "no peak"),
    ],
)
def test_a_result_beside_the_last_one_of_its_series(
    now: ResultRow, then: Neighbour, grade: str | None
) -> None:
    differing = changes([now], [then])
    assert bool(differing) == (grade is not None)
    (doubted,) = doubt_contradictions([now], differing)
    assert doubted.grade == (grade or now.grade)
    assert bool(doubted.doubts) == (grade == "D" and now.grade != "D")


def graded(grade: str, *doubts: Doubt) -> ResultRow:
    return a_row("cell", grade=grade, doubts=doubts)


def load(value: float, cores: int = 2) -> Doubt:
    return doubt("host_load", "D", value, "stop_others", cores=cores)


CV, QUOTA = Doubt("scatter", "D", 1.2, "longer_or_quieter"), Doubt("quota", "D", 0.3, "lift_quota")


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([], None),
        ([graded("A"), graded("B", CV)], Cause(CV, None, 1)),
        ([graded("B", CV), graded("B", CV), graded("C", QUOTA)], Cause(QUOTA, None, 1)),
        ([graded("D", CV), *[graded("D", CV, QUOTA)] * 2], Cause(QUOTA, None, 2)),
        ([graded("C", load(value)) for value in (20, 4.5, 9)], Cause(load(4.5), 20, 3)),
        ([graded("C", load(3, cores)) for cores in (2, 4)], Cause(load(3), None, 2)),
        ([graded("C", load(cores, cores)) for cores in (4, 2)], Cause(load(4, 4), None, 2)),
    ],
)
def test_the_cause_is_the_heaviest_finding_of_most_of_the_worst(
    rows: list[ResultRow], cause: Cause | None
) -> None:
    assert summarise_grades(rows).cause == cause
