"""What a database holds: rows, verdicts by source, models on backends."""

from pathlib import Path

import pyarrow.parquet as pq

from analysis.compatibility.verdicts import BEST_FIRST, MEANINGS
from orchestrator.store.query.coverage import Coverage, Covered, Size, Verdicts, size_on_disk
from orchestrator.store.schema.tables import TABLES, VERSION
from orchestrator.store.store import Store
from runner.contract.record.files import to_table
from runner.contract.record.record import Record
from tests.orchestrator.store.conftest import Save
from tests.support.records import a_failure, a_record


def coverage_of(database: Path, results: Path) -> Coverage:
    with Store.open(database) as store:
        store.merge([results])
        return store.coverage()


def test_rows_are_counted_in_every_table(database: Path, results: Path, save: Save) -> None:
    save(a_record(batch_size=1), a_failure("timeout", "hung", batch_size=2))
    rows = coverage_of(database, results).rows
    assert set(rows) == {table.name for table in TABLES if table is not VERSION}
    assert rows["benchmark_results"] == 2
    assert rows["raw_benchmark_data"] == rows["hardware_info"] == rows["benchmark_runs"] == 1


def test_an_empty_database_covers_nothing(database: Path, results: Path) -> None:
    empty = coverage_of(database, results)
    assert empty.verdicts == ()
    assert empty.covered == ()
    assert not any(empty.rows.values())


def test_verdicts_are_told_by_source_ours_first(database: Path, results: Path, save: Save) -> None:
    save(a_record(), a_record(batch_size=2), a_failure("lost", "gone", batch_size=4))
    save_as("aaa", results / "b.parquet", a_record(run_id="b", proof="none"), simulated=True)
    save_as("aaa", results / "a.parquet", a_record(run_id="a", proof="none"), simulated=False)
    assert coverage_of(database, results).verdicts == (
        Verdicts("accelmatrix", False, {"lost": 1, "ok": 2}),
        Verdicts("aaa", False, {"ok": 1}),
        Verdicts("aaa", True, {"ok": 1}),
    )


def test_the_best_verdict_covers_a_model_on_a_backend(
    database: Path, results: Path, save: Save
) -> None:
    save(
        a_record(),
        a_record(batch_size=2, proof="partial"),
        a_failure("timeout", "hung", batch_size=4),
        a_failure("unsupported", "cannot exist", model="gpt2", precision="int8"),
        a_failure("out_of_memory", "killed", model="gpt2"),
    )
    save_as(
        "timm",
        results / "timm.parquet",
        a_record(run_id="x", model="gpt2", proof="none"),
        simulated=False,
    )
    assert coverage_of(database, results).covered == (
        Covered("bert-tiny", "cpu", best="ok", results=3, proven=1),
        Covered("gpt2", "cpu", best="out_of_memory", results=2, proven=0),
    )


def test_what_ended_well_is_worth_what_its_marks_say(
    database: Path, results: Path, save: Save
) -> None:
    untimed = dict.fromkeys(("latency_median_s", "throughput", "steady_time_s"))
    worth = {
        "ok": a_record(model="ok"),
        "verified only": a_record(model="verified", purpose="verify", **untimed),
        "unverified": a_record(model="unverified", correct=None, correct_reason="no reference"),
        "partial": a_record(model="partial", proof="partial"),
        "unproven": a_record(model="unproven", proof="none"),
        "contradicted": a_record(model="contradicted", proof="contradicted"),
        "wrong": a_record(model="wrong", correct=False, proof="none"),
    }
    save(*worth.values())
    covered = coverage_of(database, results).covered
    best = {each.model: each.best for each in covered}
    assert best == {record.model: verdict for verdict, record in worth.items()}
    assert set(worth) == set(MEANINGS)


def test_every_verdict_has_its_place_in_the_order() -> None:
    statuses = Record.model_fields["status"].annotation
    assert set(BEST_FIRST) == set(MEANINGS) | set(statuses.__args__)  # type: ignore[union-attr]
    assert len(set(BEST_FIRST)) == len(BEST_FIRST)


def save_as(source: str, path: Path, record: Record, *, simulated: bool) -> None:
    table = to_table([record]).replace_schema_metadata(None)
    table = table.append_column("source", [[source]]).append_column("simulated", [[simulated]])
    pq.write_table(table, path)


def test_the_database_counts_with_its_log_and_its_record_files_wherever_they_lie(
    tmp_path: Path,
) -> None:
    database, results = tmp_path / "a.duckdb", tmp_path / "run" / "results"
    deep = results / "run" / "records" / "job"
    for folder in (deep, results / "other"):
        folder.mkdir(parents=True)
    database.write_bytes(b"1234")
    (tmp_path / "a.duckdb.wal").write_bytes(b"56")
    for name in ("one.parquet", "two.parquet", "../../../imported.parquet"):
        (deep / name).write_bytes(b"789")
    for name in (".unfinished.parquet", "one.log", "run.json", "../../../other/one.parquet"):
        (deep / name).write_bytes(b"does not count")
    assert size_on_disk(database, results, {"run", "imported"}) == Size(6, 3, 9)
    assert size_on_disk(database, results, ()) == Size(6, 0, 0)


def test_what_is_not_there_takes_nothing(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    assert size_on_disk(nothing, nothing, {"run"}) == Size(0, 0, 0)
