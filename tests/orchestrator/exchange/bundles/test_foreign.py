"""Databases of others are merged by the rules of bundles, and nothing in them is executed."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles import foreign
from orchestrator.exchange.bundles.foreign import is_database, open_database
from orchestrator.screen.words.records import record_words
from orchestrator.store.query.foreign import foreign_rows
from orchestrator.store.store import Store
from runner.contract.errors import StoreError, UsageError
from runner.contract.record.files import save_record
from tests.support.databases import content, holding
from tests.support.records import a_failure, a_record

MEMORY = 256 << 20
SEEN = {"environments", "hardware_info", "models"}
"""Tables whose rows say when they were last seen."""
RESULTS_SQL = "ALTER TABLE benchmark_results RENAME TO moved"


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("their-results")
    for record in (a_record(), a_record(batch_size=2), a_failure("failed", "no", batch_size=4)):
        save_record(record, folder)
    path = folder / "theirs.duckdb"
    with Store.open(path) as store:
        store.merge([folder], words=record_words)
    return path


@pytest.fixture
def theirs(merged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(merged, tmp_path))


def execute(path: Path, sql: str) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(sql)


def read(path: Path) -> int:
    with foreign_rows(path, MEMORY, path.with_name("spill")) as rows:
        return sum(len(table) for table in rows.records())


def outside(path: Path) -> str:
    secret = path.with_name("secret.csv")
    secret.write_text("result_id\nstolen\n")
    return str(secret)


ALTERED: dict[str, tuple[Callable[[Path], str], str]] = {
    "a view that reads a file stands for a table": (
        lambda path: (
            f"""{RESULTS_SQL};
            CREATE VIEW benchmark_results AS FROM read_csv('{outside(path)}')"""
        ),
        "has no table benchmark_results",
    ),
    "a view of the same columns that fills the memory": (
        lambda _: (
            f"""{RESULTS_SQL}; CREATE VIEW benchmark_results AS
            SELECT m.* FROM moved m, range(1000000000000)"""
        ),
        "has no table benchmark_results",
    ),
    "a column that computes itself": (
        lambda _: (
            """DROP TABLE replay_jobs; CREATE TABLE replay_jobs (result_id VARCHAR,
            job VARCHAR GENERATED ALWAYS AS (repeat(result_id, 1000000000)))"""
        ),
        "the column job of replay_jobs computes itself",
    ),
    "a column of another type": (
        lambda _: "ALTER TABLE models ALTER seen_at TYPE VARCHAR",
        "the column seen_at of models is VARCHAR, not TIMESTAMPTZ",
    ),
    "a column of a type of its own": (
        lambda _: (
            """CREATE TYPE mood AS ENUM ('graph', 'image', 'weights');
            ALTER TABLE artefacts ALTER kind TYPE mood"""
        ),
        "the column kind of artefacts is ENUM",
    ),
    "a table that lacks a column": (
        lambda _: "ALTER TABLE benchmark_results DROP grade",
        "the column grade of benchmark_results is missing",
    ),
    "results of no run": (
        lambda _: "DELETE FROM benchmark_runs",
        "3 of its results are of no run that it knows",
    ),
    "a newer schema": (
        lambda _: "UPDATE schema_version SET version = 99",
        "has schema 99, and this AccelMatrix works with",
    ),
    "two versions": (
        lambda _: (
            """INSERT INTO schema_version
            SELECT 1 + version, true, now(), 'x', NULL FROM schema_version"""
        ),
        "does not say which schema it has",
    ),
    "somebody else's": (
        lambda _: "DROP TABLE schema_version; CREATE TABLE schema_version (n INTEGER)",
        "a DuckDB database, but not one of AccelMatrix",
    ),
}


@pytest.mark.representatives(4)
@pytest.mark.parametrize(("alter", "refusal"), ALTERED.values(), ids=ALTERED)
def test_an_altered_database_is_refused(
    theirs: Path, alter: Callable[[Path], str], refusal: str
) -> None:
    execute(theirs, alter(theirs))
    with pytest.raises(StoreError, match=refusal):
        read(theirs)


HARMLESS: dict[str, str] = {
    "macros under the names of functions": """
        CREATE MACRO unnest(x) AS 'evil'; CREATE MACRO count(x) AS 0;
        CREATE MACRO main.list(x) AS error('evil'); CREATE MACRO sha256(x) AS error('evil')""",
    "views with side effects": """
        CREATE SEQUENCE visits; CREATE VIEW counter AS SELECT nextval('visits') AS n;
        CREATE OR REPLACE VIEW latest_results AS SELECT error('evil') AS result_id""",
    "tables and columns of its own": """
        CREATE TABLE more (a INTEGER); ALTER TABLE models ADD COLUMN more VARCHAR DEFAULT 'x';
        CREATE SCHEMA other; CREATE TABLE other.benchmark_results (a INTEGER)""",
}


def test_what_is_not_asked_for_is_never_executed(theirs: Path) -> None:
    execute(theirs, ";".join(HARMLESS.values()))
    before = theirs.read_bytes()
    assert read(theirs) == 3
    assert theirs.read_bytes() == before


def test_nothing_else_can_be_reached_while_it_is_open(theirs: Path) -> None:
    secret = outside(theirs)
    with foreign_rows(theirs, MEMORY, theirs.with_name("spill")) as rows:
        connection = rows._connection
        for sql in (
            f"FROM read_csv('{secret}')",
            f"COPY (SELECT 1) TO '{theirs.with_name('written.csv')}'",
            f"ATTACH '{theirs.with_name('other.duckdb')}'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(sql)
    assert not theirs.with_name("written.csv").exists()


def test_only_a_duckdb_file_is_a_database(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"DUCK")
    (tmp_path / "link").symlink_to(theirs)
    assert is_database(theirs)
    assert is_database(tmp_path / "link")
    assert not any(map(is_database, [tmp_path, tmp_path / "short", tmp_path / "nothing"]))


def test_a_database_is_not_merged_into_itself(theirs: Path) -> None:
    with pytest.raises(UsageError, match="is the database that is merged into"):
        merge_paths([theirs], theirs, scratch=False)


@pytest.mark.slow
def test_a_database_brings_what_a_bundle_of_it_would_and_replaces_nothing(
    theirs: Path, tmp_path: Path
) -> None:
    lab = tmp_path / "lab.duckdb"
    report = merge_paths([theirs], lab, scratch=False)
    assert (report.inserted, report.hosts) == (3, (("example-host", 3),))
    before = content(lab)
    assert before == content(theirs)
    assert merge_paths([theirs], lab, scratch=False).unchanged == 3

    execute(
        theirs,
        """UPDATE benchmark_results SET recorded_at = recorded_at + INTERVAL 1 HOUR,
            latency_median_s = -1 WHERE batch_size = 1;
        UPDATE benchmark_results SET recorded_at = recorded_at + INTERVAL 1 HOUR,
            hostname = 'mine' WHERE batch_size = 2;
        UPDATE benchmark_runs SET hostname = 'mine'""",
    )
    report = merge_paths([theirs], lab, scratch=False)
    assert [len(report.damaged), len(report.contradicted), report.inserted] == [1, 1, 0]
    assert report.damaged[0].path == theirs
    after = content(lab)
    assert all(after[name] == before[name] for name in before if name not in SEEN)


@pytest.mark.slow
def test_what_breaks_the_reader_costs_the_child_alone(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holding(theirs), pytest.raises(StoreError, match="is being written by another process"):
        merge_paths([theirs], tmp_path / "lab.duckdb", scratch=False)
    broken = tmp_path / "broken.duckdb"
    whole = theirs.read_bytes()
    broken.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"broken\.duckdb"):
        merge_paths([broken], tmp_path / "lab.duckdb", scratch=False)
    for child, refusal in (
        ("import os; os.kill(os.getpid(), 11)", "ended with signal 11"),
        ("print('{not json'); raise SystemExit(3)", "ended with exit status 3"),
        ("import time; time.sleep(60)", "cannot be read within 1s"),
    ):
        monkeypatch.setattr(foreign, "_CHILD", child)
        began = time.monotonic()
        with pytest.raises(StoreError, match=refusal), open_database(theirs, timeout_s=1.0):
            pass
        assert time.monotonic() - began < 30
    assert not (tmp_path / "lab.duckdb").exists()
