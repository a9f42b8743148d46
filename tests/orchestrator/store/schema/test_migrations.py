"""Databases that earlier versions made lose nothing on their way here, and are reported on."""

import json
import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from orchestrator.store import MergeReport, Store
from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.older_records import FORMER_STAGES
from orchestrator.store.schema.tables import OLDEST, STORE_VERSION
from orchestrator.store.schema.views import VIEWS
from runner.contract.job import Job
from runner.contract.record import ENVIRONMENT_FACTS, Row, exact_hardware_id, hardware_id
from tests.orchestrator.store.conftest import scalar
from tests.support.command_line import call
from tests.support.databases import everything, schema_of, unpacked, version_of
from tests.support.records import record_for

CREATED = {"schema_version"}
DESCRIBED = {"benchmark_runs"}
CHANGED = ("time_per_output_token_", "grade", "hardware_id", *FORMER_STAGES)
"""Columns that held gaps between tokens, means of starts, grades by earlier rules, exact memory."""
JOBS_OF_4 = "SELECT result_id, job, NULL AS model_spec FROM replay_jobs ORDER BY result_id"
JOBS = """
    SELECT result_id, job, model_spec FROM replay_jobs JOIN benchmark_results USING (result_id)
    JOIN models USING (model_id) ORDER BY result_id
"""


@pytest.fixture(scope="module", params=[OLDEST, 6], ids="schema {}".format)
def schema(request: pytest.FixtureRequest) -> int:
    """The oldest schema, and the last one in which all iterations counted as independent."""
    return int(request.param)


@pytest.fixture
def older(schema: int, tmp_path: Path) -> Path:
    """A database as that schema left it."""
    return unpacked("benchmarks.duckdb", tmp_path, schema)


@pytest.fixture
def records(schema: int, tmp_path: Path) -> Path:
    return unpacked("records.parquet", tmp_path, schema)


@pytest.fixture(scope="module")
def forward(schema: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The older database, brought forward; tests only read it."""
    database = unpacked("benchmarks.duckdb", tmp_path_factory.mktemp("forward"), schema)
    Store.open(database).close()
    return database


@pytest.fixture(scope="module")
def fresh(schema: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What today's code makes of the same records; tests only read it."""
    folder = tmp_path_factory.mktemp("fresh")
    with Store.open(folder / "fresh.duckdb") as store:
        records = unpacked("records.parquet", folder, schema)
        assert store.merge([records]) == MergeReport(inserted=9)
    return folder / "fresh.duckdb"


def ask(database: Path, sql: str) -> list[Row]:
    with duckdb.connect(database, read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return fetch(connection, sql)


def test_older_databases_are_as_their_versions_left_them(older: Path, schema: int) -> None:
    assert version_of(older) == schema


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize("version", [5, 11])
def test_views_that_an_earlier_version_defined_become_those_of_today(
    fresh: Path, tmp_path: Path, version: int
) -> None:
    """Schema 5 has the tables of 6, and schema 11 those of 12."""
    today = schema_of(fresh)
    copied = Path(shutil.copy(fresh, tmp_path))
    with duckdb.connect(copied) as connection:
        connection.execute("UPDATE schema_version SET version = ?", [version])
        if version == 5:
            connection.execute("DROP TABLE accepted_changes")
        connection.execute("DROP VIEW generation_results")
        connection.execute("CREATE OR REPLACE VIEW history AS SELECT 1 AS ratio")
        connection.execute("CREATE VIEW no_longer AS SELECT 1 AS one")
    Store.open(copied).close()
    assert schema_of(copied) == today
    assert version_of(copied) == STORE_VERSION


def test_each_fact_of_a_result_is_still_there(older: Path, forward: Path) -> None:
    before = ask(older, "FROM benchmark_results ORDER BY result_id")
    after = ask(
        forward,
        "FROM benchmark_results LEFT JOIN environments USING (environment_id) ORDER BY result_id",
    )
    for then, now in zip(before, after, strict=True):
        kept = [name for name in then if not name.startswith(CHANGED)]
        assert {name: now[name] for name in kept} == {name: then[name] for name in kept}
        assert now["environment_id"]
        assert (now["source"], now["simulated"], now["other"]) == ("accelmatrix", False, None)


def test_each_job_is_still_there_with_its_model(older: Path, forward: Path, schema: int) -> None:
    before = [whole_job(row) for row in ask(older, JOBS_OF_4 if schema == OLDEST else JOBS)]
    after = [whole_job(row) for row in ask(forward, JOBS)]
    assert len(before) == 9
    assert after == before
    for job in after:
        Job.model_validate(job)


def whole_job(row: Row) -> Row:
    """The job with its model, which schema 4 kept in it."""
    spec = row.get("model_spec")
    return {**json.loads(row["job"]), **({"model": json.loads(spec)} if spec else {})}


@pytest.mark.representatives(1)
@pytest.mark.slow
def test_machines_stay_as_they_were_but_for_their_ids_and_none_is_a_part(older: Path) -> None:
    machines = "SELECT * FROM hardware_info ORDER BY ALL"
    before = ask(older, machines)
    Store.open(older).close()
    after = {row["hardware_id"]: row for row in ask(older, machines)}
    expected = [
        {**row, "hardware_id": hardware_id(row), "device_partition": None} for row in before
    ]
    assert after == {row["hardware_id"]: row for row in expected} != {}


@pytest.mark.representatives(1)
@pytest.mark.slow
def test_a_machine_with_two_kernels_becomes_one_and_keeps_the_newest_memory(older: Path) -> None:
    with duckdb.connect(older) as connection:
        (machine,) = fetch(connection, "FROM hardware_info WHERE memory_total_bytes IS NOT NULL")
        twin = {**machine, "memory_total_bytes": machine["memory_total_bytes"] - 3_000_000}
        twin["hardware_id"] = exact_hardware_id(twin)
        connection.execute(
            "INSERT INTO hardware_info BY NAME FROM hardware_info"
            " SELECT * REPLACE (? AS hardware_id, ?::BIGINT AS memory_total_bytes,"
            " seen_at + INTERVAL 1 DAY AS seen_at) WHERE hardware_id = ?",
            [twin["hardware_id"], twin["memory_total_bytes"], machine["hardware_id"]],
        )
        own = "UPDATE benchmark_results SET hardware_id = ? WHERE result_id = ("
        last = "SELECT max(result_id) FROM benchmark_results WHERE hardware_id = ?)"
        connection.execute(own + last, [twin["hardware_id"], machine["hardware_id"]])
    Store.open(older).close()
    joined = "FROM benchmark_results JOIN hardware_info USING (hardware_id)"
    ids = "SELECT DISTINCT hardware_id, memory_total_bytes"
    rows = ask(older, f"{ids} {joined} WHERE cpu_model = '{machine['cpu_model']}'")
    newest = twin["memory_total_bytes"]
    assert rows == [{"hardware_id": hardware_id(machine), "memory_total_bytes": newest}]


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize("device", ["Example CPU  ", "ARM CPU"])
def test_a_processor_that_openvino_named_becomes_that_of_other_runtimes(
    older: Path, device: str
) -> None:
    """It has one result of its own, and one machine is known to other runtimes already."""
    with duckdb.connect(older) as connection:
        (plain,) = fetch(connection, "FROM hardware_info WHERE device_name = cpu_model")
        named = {**plain, "device_name": device}
        named["hardware_id"] = exact_hardware_id(named)
        connection.execute(
            "INSERT INTO hardware_info BY NAME FROM hardware_info"
            " SELECT * REPLACE (? AS hardware_id, ? AS device_name) WHERE hardware_id = ?",
            [named["hardware_id"], device, plain["hardware_id"]],
        )
        first = "SELECT min(result_id) FROM benchmark_results WHERE hardware_id = ?"
        own = scalar_of(connection, first, plain["hardware_id"])
        moved = "UPDATE benchmark_results SET hardware_id = ? WHERE result_id = ?"
        connection.execute(moved, [named["hardware_id"], own])
    Store.open(older).close()
    joined = "FROM benchmark_results JOIN hardware_info USING (hardware_id)"
    rows = ask(older, f"SELECT hardware_id, device_name {joined} WHERE result_id = '{own}'")
    assert rows == [{"hardware_id": hardware_id(plain), "device_name": plain["cpu_model"]}]
    assert {row["device_name"] for row in ask(older, "FROM hardware_info")}.isdisjoint({device})


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "partition"),
    [
        ("H100 MIG 1g.10gb", "1g.10gb"),
        pytest.param("NVIDIA H100", "MIG", marks=pytest.mark.slow),
    ],
)
def test_a_part_of_a_gpu_gets_an_id_of_its_own(older: Path, device: str, partition: str) -> None:
    """Another result of the same machine used the whole GPU."""
    with duckdb.connect(older) as connection:
        shared = scalar_of(
            connection,
            "SELECT hardware_id FROM benchmark_results WHERE hardware_id IS NOT NULL"
            " GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1",
        )
        named = "UPDATE hardware_info SET device_name = ? WHERE hardware_id = ?"
        connection.execute(named, [device, shared])
        first = "SELECT min(result_id) FROM benchmark_results WHERE hardware_id = ?"
        part = scalar_of(connection, first, shared)
        uuid = "UPDATE benchmark_results SET device_uuid = 'MIG-1' WHERE result_id = ?"
        connection.execute(uuid, [part])
    Store.open(older).close()
    machines = {row["hardware_id"]: row for row in ask(older, "FROM hardware_info")}
    owners = ask(older, "SELECT result_id, hardware_id FROM benchmark_results")
    found = {row["result_id"]: row["hardware_id"] for row in owners}
    assert found[part] == hardware_id(machines[found[part]]) != shared
    assert machines[found[part]]["device_partition"] == partition
    assert machines[shared]["device_partition"] is None
    assert shared in {owner for result, owner in found.items() if result != part}


def scalar_of(connection: duckdb.DuckDBPyConnection, sql: str, *values: object) -> str:
    ((value,),) = connection.execute(sql, list(values)).fetchall()
    return str(value)


def test_other_tables_stay_as_they_were(older: Path, forward: Path) -> None:
    table = "raw_benchmark_data"
    assert everything(forward)[table] == everything(older)[table] != []
    described = "SELECT * EXCLUDE (labels, group_id) FROM benchmark_runs ORDER BY ALL"
    assert ask(forward, described) == ask(older, "FROM benchmark_runs ORDER BY ALL") != []


def test_it_is_what_a_merge_of_the_same_records_makes(forward: Path, fresh: Path) -> None:
    ours, anew = everything(forward), everything(fresh)
    assert ours.keys() == anew.keys()
    for table in ours.keys() - CREATED - DESCRIBED:
        assert ours[table] == anew[table], table


def test_merging_the_same_records_again_changes_nothing(
    forward: Path, records: Path, tmp_path: Path
) -> None:
    before = everything(forward)
    copied = Path(shutil.copy(forward, tmp_path / "copied.duckdb"))
    with Store.open(copied) as store:
        assert store.merge([records]) == MergeReport(unchanged=9)
    assert everything(copied) == before


def test_ids_are_those_that_todays_runner_gives(forward: Path, records: Path) -> None:
    known = {row["result_id"]: row for row in ask(forward, "FROM benchmark_results")}
    for row in pq.read_table(records).to_pylist(maps_as_pydicts="strict"):
        job = Job.model_validate(whole_job(row))
        facts = {name: row.get(name) for name in ENVIRONMENT_FACTS}
        today = record_for(job, job.cells[0], **facts, status=row["status"])
        found = known[f"{row['run_id']}/{row['cell_id']}"]
        assert found["environment_id"] == today.environment_id
        assert found["model_id"] == today.model_id


def test_what_results_share_is_there_once(forward: Path) -> None:
    assert scalar(forward, "SELECT count(*) FROM environments") == 3
    assert scalar(forward, "SELECT count(*) FROM models") == 2
    kinds = ask(forward, "SELECT kind FROM artefacts ORDER BY kind")
    assert [row["kind"] for row in kinds] == ["graph", "image", "weights"]


def test_tables_views_and_comments_are_those_of_a_new_database(forward: Path, fresh: Path) -> None:
    assert schema_of(forward) == schema_of(fresh)


@pytest.mark.representatives(8)
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_views_answer_the_same(forward: Path, fresh: Path, view: object) -> None:
    sql = f"SELECT * FROM {view.name} ORDER BY ALL"  # type: ignore[attr-defined]
    assert repr(ask(forward, sql)) == repr(ask(fresh, sql))


def test_the_file_as_it_was_is_kept(older: Path, forward: Path, schema: int) -> None:
    kept = forward.with_name(f"{forward.name}.schema{schema}")
    assert version_of(kept) == schema
    assert everything(kept) == everything(older)
    assert version_of(forward) == STORE_VERSION


@pytest.mark.representatives(1)
@pytest.mark.slow
def test_a_report_names_the_results_of_an_older_database(older: Path, tmp_path: Path) -> None:
    measured = "SELECT result_id, model FROM benchmark_results WHERE status = 'ok'"
    expected = {(row["result_id"], row["model"], 3.0) for row in ask(older, measured)}
    words = ("report", "performance", "--all", "--json", "--database", str(older))
    done = call(*words, folder=tmp_path, environment={})
    assert done.returncode == 0, done.stderr
    tables = [table for part in json.loads(done.stdout)["sections"] for table in part["tables"]]
    (rows,) = [table["rows"] for table in tables if table["name"] == "results"]
    assert len(rows) == len(expected) == 5
    assert {(row["result_id"], row["model"], row["latency_median_ms"]) for row in rows} == expected
    assert version_of(older) == STORE_VERSION
