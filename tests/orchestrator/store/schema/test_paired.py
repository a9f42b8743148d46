"""Ratios of results side by side: the view agrees with what was measured, round by round."""

import math
import random
from collections.abc import Iterator, Mapping
from itertools import chain, permutations
from pathlib import Path
from statistics import fmean, median, stdev

import pytest

from analysis.results.paired import paired_ratios
from analysis.statistics.paired import round_ratio
from orchestrator.store.health.fix import fix_database
from orchestrator.store.store import Store
from runner.contract.record.files import Row
from runner.contract.record.record import Record
from runner.contract.rounds import RoundResult
from tests.orchestrator.store.schema.conftest import Ask
from tests.support.databases import write_records
from tests.support.side_by_side import a_candidate, paced_rounds, round_of

GROUPS = 30
Results = Mapping[str, list[RoundResult]]


def drawn_rounds(chance: random.Random, count: int, batch: int) -> list[RoundResult]:
    """Rounds of any durations, equal ones among them, and of any numbers of bursts."""
    together, most = chance.random() < 0.7, 10 ** chance.randint(1, 9)

    def burst() -> list[int]:
        return [chance.randint(1, most) for _ in range(chance.randint(1, 5))]

    bursts = [[burst() for _ in range(chance.randint(1, 6))] for _ in range(count)]
    return [round_of(one, batch=batch, together=together) for one in bursts]


def drawn_groups() -> Iterator[tuple[Record, list[RoundResult]]]:
    """Groups of up to three results of one question, each with its rounds."""
    for number in range(GROUPS):
        chance = random.Random(number)
        batch, count = chance.choice((1, 3, 8)), chance.randint(1, 4)
        for runtime in ("torch", "onnxruntime", "torch_compile")[: chance.randint(1, 3)]:
            rounds = drawn_rounds(chance, count, batch)
            facts = {"run_id": f"run-{number}", "runtime": runtime, "batch_size": batch}
            yield a_candidate(rounds, **facts, side_by_side=f"run-{number}-g1"), rounds


def expected(first: RoundResult, second: RoundResult) -> tuple[float, int, float | None]:
    """Ratio, bursts and their spread, by the durations of the bursts."""
    ours, theirs = first.sample_medians_ns, second.sample_medians_ns
    logarithms = [math.log(one / other) for one, other in zip(ours, theirs, strict=False)]
    spread = stdev(logarithms) if len(logarithms) > 1 else None
    middle = median(logarithms)
    assert round_ratio(theirs, ours) == (pytest.approx(middle), len(logarithms), spread)
    return math.exp(middle), len(logarithms), spread


@pytest.mark.slow
def test_the_view_agrees_with_the_ratio_that_ends_a_comparison(tmp_path: Path) -> None:
    """Whatever the durations, the numbers of bursts and of rounds, and the batch."""
    drawn = [*drawn_groups()]
    with Store.open_readonly(write_records(tmp_path, (record for record, _ in drawn))) as store:
        sql = "FROM paired_ratios ORDER BY ALL"
        known = {
            (row["result_id"], row["other_id"], row["round"]): row
            for row in store.arrow(sql).to_pylist()
        }
        ids = [f"{record.run_id}/{record.cell_id}" for record, _ in drawn]
        ratios = paired_ratios(store, ids)
    groups: dict[str, list[tuple[str, list[RoundResult]]]] = {}
    for (record, rounds), name in zip(drawn, ids, strict=True):
        groups.setdefault(record.run_id, []).append((name, rounds))
    pairs = [*chain.from_iterable(permutations(group, 2) for group in groups.values())]
    assert len(known) == sum(len(rounds) for (_, rounds), _ in pairs) > 100
    for (first, taken), (second, beside) in pairs:
        values = [expected(*two) for two in zip(taken, beside, strict=True)]
        for number, (ratio, bursts, spread) in enumerate(values, start=1):
            row = known[first, second, number]
            assert (row["ratio"], row["bursts"]) == (pytest.approx(ratio), bursts)
            assert row["spread"] == (None if spread is None else pytest.approx(spread))
        pair, spreads = ratios.get((first, second)), [one for *_, one in values if one is not None]
        if len(values) == 1:
            assert pair is None
            continue
        assert pair is not None
        assert pair.logarithms == pytest.approx([math.log(ratio) for ratio, *_ in values])
        within = math.sqrt(fmean(one**2 for one in spreads)) if spreads else None
        assert pair.within == (None if within is None else pytest.approx(within))


def pairs_of(rows: list[Row]) -> set[tuple[object, object]]:
    return {(row["one"], row["other"]) for row in rows}


PAIRS = """
    SELECT DISTINCT f.runtime AS one, s.runtime AS other FROM paired_ratios p
    JOIN benchmark_results f USING (result_id) JOIN benchmark_results s ON s.result_id = other_id
"""
BOTH = {("torch", "onnxruntime"), ("onnxruntime", "torch")}


@pytest.mark.representatives(5)
@pytest.mark.parametrize(
    ("changes", "pairs"),
    [
        ({}, BOTH),
        ({"precision": "int8"}, BOTH),
        ({"model": "bert-small"}, BOTH),  # models are compared if somebody asks for it
        ({"run_id": "another"}, BOTH),  # so are versions, which have runs of their own
        ({"side_by_side": "run-g2"}, set()),
        ({"side_by_side": None, "looks": None}, set()),
        ({"batch_size": 2}, set()),
        ({"sequence_length": 64}, set()),
        ({"mode": "training"}, set()),
        ({"proof": "none"}, BOTH),  # comparisons refuse it, by their marks
    ],
)
def test_results_of_one_group_and_one_question_are_paired(
    ask: Ask, changes: dict[str, object], pairs: set[tuple[str, str]]
) -> None:
    batches = (1, int(str(changes.get("batch_size", 1))))
    ours, theirs = ([round_of([[100, 110], [120]], batch=batch)] * 3 for batch in batches)
    other = a_candidate(theirs, **{"runtime": "onnxruntime", **changes})
    assert pairs_of(ask(PAIRS, a_candidate(ours), other)) == pairs


def test_launches_that_took_turns_are_compared_by_their_medians(ask: Ask) -> None:
    ours, theirs = (
        [round_of([durations], together=False) for durations in launches]
        for launches in (([1, 2, 9], [4]), ([4, 4, 5], [2]))
    )
    rows = ask(
        "SELECT ratio, bursts, spread FROM paired_ratios WHERE result_id LIKE '%onnxruntime%'"
        " ORDER BY round",
        a_candidate(ours),
        a_candidate(theirs, runtime="onnxruntime"),
    )
    assert [(row["ratio"], row["bursts"], row["spread"]) for row in rows] == [
        (pytest.approx(2.0), 1, None),
        (pytest.approx(0.5), 1, None),
    ]


@pytest.mark.slow
def test_what_goes_into_quarantine_is_compared_no_more(tmp_path: Path) -> None:
    names = ("torch", "onnxruntime", "torch_compile")
    records = [a_candidate(paced_rounds(0.01, 3), runtime=name) for name in names]
    database = write_records(tmp_path, records)
    with Store.open(database) as store:
        assert len(pairs_of(store.arrow(PAIRS).to_pylist())) == 6
        store._connection.execute(
            "UPDATE benchmark_results SET memory_peak_bytes = -5 WHERE runtime = 'torch_compile'"
        )
    assert fix_database(database, None).quarantined == 1
    with Store.open_readonly(database) as store:
        assert pairs_of(store.arrow(PAIRS).to_pylist()) == BOTH
