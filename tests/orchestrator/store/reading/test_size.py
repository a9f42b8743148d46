from pathlib import Path

from orchestrator.store import Size, size_on_disk


def test_the_database_counts_with_its_log_and_record_files_wherever_they_lie(
    tmp_path: Path,
) -> None:
    database, results = tmp_path / "a.duckdb", tmp_path / "results"
    deep = results / "run" / "records" / "job"
    deep.mkdir(parents=True)
    database.write_bytes(b"1234")
    (tmp_path / "a.duckdb.wal").write_bytes(b"56")
    for name in ("one.parquet", "two.parquet"):
        (deep / name).write_bytes(b"789")
    for name in (".unfinished.parquet", "one.log", "run.json"):
        (deep / name).write_bytes(b"does not count")
    assert size_on_disk(database, results) == Size(6, 2, 6)


def test_what_is_not_there_takes_nothing(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    assert size_on_disk(nothing, nothing) == Size(0, 0, 0)
