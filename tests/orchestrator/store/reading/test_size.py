from pathlib import Path

from orchestrator.store import Size, size_on_disk


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
