"""The A/A study: its records outlive a session, and its rates are those of each session."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from performance import aa_study
from performance.aa_records import StudyRecord, append_record, rates_of, read_study
from performance.aa_study import main, measure_pairs
from performance.simulated import a_result
from runner.contract.rounds import RoundResult
from runner.measure.statistics.replication import round_interval

MOMENT = datetime(2026, 11, 25, tzinfo=UTC)
PROCESSES, BETWEEN = 4, 0.01


def a_record(
    level: float, seed: int, *, session: str = "s1", triple: int = 0, slowdown: float = 0.0
) -> StudyRecord:
    """A record of processes that differ by 1 % around this level."""
    draws = np.random.default_rng(seed).standard_normal(PROCESSES)
    medians = tuple(level * (1 + slowdown) * np.exp(BETWEEN * draws))
    interval = round_interval(medians, 0.95)
    assert interval is not None
    return StudyRecord(
        session=session,
        host="h1",
        measured_at=MOMENT,
        seconds=30,
        triple=triple,
        slowdown=slowdown,
        medians=medians,
        moments_s=tuple(range(0, 60 * PROCESSES, 60)),
        low=interval.low,
        value=interval.median,
        high=interval.high,
    )


def a_session(name: str, level: float, triples: int, seed: int) -> list[StudyRecord]:
    return [
        a_record(level, seed + 3 * k + place, session=name, triple=k, slowdown=slowdown)
        for k in range(triples)
        for place, slowdown in enumerate((0.0, 0.0, 0.2))
    ]


def test_sessions_at_other_levels_add_up_since_each_has_its_own() -> None:
    records = [*a_session("s1", 1.0, 30, 0), *a_session("s2", 1.3, 30, 1000)]
    rates = rates_of(records)
    assert rates is not None
    assert (rates.pairs, rates.sessions, rates.hosts, rates.judged) == (60, 2, 1, 120)
    assert rates.held
    assert (rates.coverage or 0) >= 0.9
    assert (rates.slowed, rates.slowdown_found) == (60, 1.0)
    assert rates.processes == PROCESSES
    assert rates.between_process_cv == pytest.approx(BETWEEN, rel=0.1)
    pooled = rates_of([record.model_copy(update={"session": "s1"}) for record in records[:180]])
    assert pooled is not None
    assert not pooled.held


def test_a_narrow_interval_fails_the_bars() -> None:
    narrow = [
        record.model_copy(update={"low": record.value * 0.9999, "high": record.value * 1.0001})
        for record in a_session("s1", 1.0, 20, 0)
    ]
    rates = rates_of(narrow)
    assert rates is not None
    assert rates.apart > 0.5
    assert (rates.coverage or 0) < 0.5
    assert not rates.held


def test_what_a_killed_session_left_is_no_pair_and_a_short_one_knows_no_level() -> None:
    assert rates_of([]) is None
    assert rates_of([a_record(1.0, 0), a_record(1.0, 1, session="s2")]) is None
    rates = rates_of(a_session("s1", 1.0, 2, 0)[:5])
    assert rates is not None
    assert (rates.pairs, rates.slowed, rates.judged, rates.coverage) == (2, 1, 0, None)


def test_a_torn_line_costs_its_record_alone(tmp_path: Path) -> None:
    data = tmp_path / "aa.jsonl"
    assert read_study(data) == []
    first, second, third = a_session("s1", 1.0, 1, 0)
    append_record(data, first)
    data.write_bytes(data.read_bytes() + second.model_dump_json().encode()[:40])
    append_record(data, third)
    assert read_study(data) == [first, third]
    assert read_study(data, seconds=3) == []


def test_a_study_goes_on_where_it_stopped_and_reports_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, launches = tmp_path / "aa.jsonl", []

    def launch(slowdown: float, seconds: float, windows: int) -> RoundResult:
        launches.append(slowdown)
        duration = round(1e6 * (1 + slowdown) * (1 + 0.001 * (len(launches) % 3)))
        result = a_result([duration] * 20)
        return result.model_copy(update={"measured_at": datetime.now(UTC)})

    monkeypatch.setattr(aa_study, "launch", launch)
    measure_pairs(data, 3, minutes=0, seconds_=1e-6, slowdowns=(0.0, 0.0))
    assert len(read_study(data)) == 2
    assert capsys.readouterr().out.startswith("pair 1 of 3: ")
    measure_pairs(data, 3, minutes=None, seconds_=1e-6, slowdowns=(0.0, 0.0, 0.05))
    assert len(read_study(data)) == 8
    assert "slowed by 5 %" in capsys.readouterr().out.replace("5%", "5 %")
    assert len({record.session for record in read_study(data)}) == 2
    before = len(launches)
    monkeypatch.setattr("sys.argv", ["aa_study", "--data", str(data)])
    main()
    assert "records of 1e-06 s:\n3 pairs of the same cell" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["aa_study", "--data", str(data), "--seconds", "30"])
    assert main() == 1
    assert len(launches) == before
    assert "no pair of 30 s yet" in capsys.readouterr().out
