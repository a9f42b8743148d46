"""Coverage of a database, and results that are stale."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.compatibility.verdicts import BEST_FIRST, MEANINGS
from orchestrator.store.query.state import (
    Coverage,
    Covered,
    Installation,
    Size,
    Stale,
    Verdicts,
    size_on_disk,
)
from orchestrator.store.schema.sources import Run
from orchestrator.store.schema.tables import TABLES, VERSION
from orchestrator.store.store import Store
from runner.contract.record.files import to_table
from runner.contract.record.record import Record
from tests.orchestrator.store.conftest import Save
from tests.support.records import EXAMPLE_HOST, RECORDED_AT, a_failure, a_record


def coverage_of(store: Store, results: Path) -> Coverage:
    store.merge([results])
    return store.coverage()


def test_rows_are_counted_in_every_table(store: Store, results: Path, save: Save) -> None:
    save(a_record(batch_size=1), a_failure("timeout", "hung", batch_size=2))
    rows = coverage_of(store, results).rows
    assert set(rows) == {table.name for table in TABLES if table is not VERSION}
    assert rows["benchmark_results"] == 2
    assert rows["raw_benchmark_data"] == rows["hardware_info"] == rows["benchmark_runs"] == 1


def test_verdicts_are_told_by_source_ours_first(store: Store, results: Path, save: Save) -> None:
    save(a_record(), a_record(batch_size=2), a_failure("lost", "gone", batch_size=4))
    save_as("aaa", results / "b.parquet", a_record(run_id="b", proof="none"), simulated=True)
    save_as("aaa", results / "a.parquet", a_record(run_id="a", proof="none"), simulated=False)
    assert coverage_of(store, results).verdicts == (
        Verdicts("accelmatrix", False, {"lost": 1, "ok": 2}),
        Verdicts("aaa", False, {"ok": 1}),
        Verdicts("aaa", True, {"ok": 1}),
    )


def test_the_best_verdict_covers_a_model_on_a_backend(
    store: Store, results: Path, save: Save
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
    assert coverage_of(store, results).covered == (
        Covered("bert-tiny", "cpu", best="ok", results=3, proven=1),
        Covered("gpt2", "cpu", best="out_of_memory", results=2, proven=0),
    )


def test_what_ended_well_is_worth_what_its_marks_say(
    store: Store, results: Path, save: Save
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
    best = {each.model: each.best for each in coverage_of(store, results).covered}
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


LATER = RECORDED_AT + timedelta(days=1)
COMMAND = "orchestrator run matrix.yaml"
OLD, NEW = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def never(backend: str, labels: Mapping[str, str]) -> bool:
    return False


ELSEWHERE = Installation("somewhere-else", "9.9.9", never)


def then(**changes: Any) -> Record:
    return a_record(**changes)


def now(**changes: Any) -> Record:
    later = {"run_id": "now", "recorded_at": LATER, "batch_size": 8}
    return a_record(**later | changes)


def stale_after(
    store: Store, results: Path, *runs: Run, installed: Installation = ELSEWHERE
) -> tuple[Stale, ...]:
    store.merge([results], *runs)
    return store.doubtful(installed).stale


CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "torch 2.12.0, now 2.13.0": (
        {"libraries": {"torch": "2.12.0", "numpy": "2.0"}},
        {"libraries": {"torch": "2.13.0"}},
    ),
    "runner 0.0.9, now 0.1.0": ({"runner_version": "0.0.9"}, {}),
    "kernel 6.1.0, now 6.12.0": ({"kernel": "6.1.0"}, {}),
    "Python 3.10.0, now 3.11.9": ({"python_version": "3.10.0"}, {}),
    "image sha256:aaaaaaaaaaaa, now sha256:bbbbbbbbbbbb": (
        {"image_digest": OLD, "launcher": "docker"},
        {"image_digest": NEW, "launcher": "docker"},
    ),
}
NOT_STALE: list[dict[str, Any]] = [
    {},
    {"cpu_model": "Other CPU", "kernel": "7.0"},
    {"backend": "openvino", "runtime": "openvino", "kernel": "7.0"},
    {"runtime": "onnxruntime", "kernel": "7.0"},
    {"launcher": "docker", "kernel": "7.0", "image_digest": NEW},
    {"batch_size": 1, "kernel": "7.0"},
    {"libraries": {"onnx": "1.0"}},
    {"kernel": None, "libraries": None},
]


def on_a_host(name: object, before: dict[str, Any], after: dict[str, Any]) -> tuple[Record, ...]:
    host = {"hostname": f"host {name}", "cpu_model": f"CPU {name}"}
    earlier, later = {"run_id": f"then {name}"}, {"run_id": f"now {name}"}
    return then(**earlier | host | before), now(**later | host | after)


def test_what_changed_since_is_told(store: Store, results: Path, save: Save) -> None:
    for change, (before, after) in CHANGED.items():
        save(*on_a_host(change, before, after))
    groups = {group.hostname: group for group in stale_after(store, results)}
    assert {name: group.changes for name, group in groups.items()} == {
        f"host {change}": (change,) for change in CHANGED
    }
    for group in groups.values():
        assert (group.backend, group.runtime) == ("cpu", "torch")
        assert (group.cells, group.since) == (1, RECORDED_AT)
        assert group.example == "cpu-bert-tiny-fp32-b1-s128-inference"


def test_what_is_not_comparable_or_was_measured_anew_is_not_stale(
    store: Store, results: Path, save: Save
) -> None:
    for number, after in enumerate(NOT_STALE):
        save(*on_a_host(number, {}, after))
    save(*on_a_host("stale", {}, {"kernel": "7.0"}))
    assert [group.hostname for group in stale_after(store, results)] == ["host stale"]


@pytest.mark.slow
def test_failures_show_what_runs_now_but_verdicts_of_the_host_do_not(
    store: Store, results: Path, save: Save
) -> None:
    save(then())
    lost = {"run_id": "now", "recorded_at": LATER, "batch_size": 8}
    unknown = {"runner_version": None, "kernel": None, "libraries": None}
    save(a_failure("lost", "gone", **lost, **unknown))
    assert stale_after(store, results) == ()
    save(a_failure("failed", "a bug", kernel="7.0", **lost | {"run_id": "b"}))
    (group,) = stale_after(store, results)
    assert group.changes == ("kernel 6.12.0, now 7.0",)


def test_only_proven_results_can_age(store: Store, results: Path, save: Save) -> None:
    save(then(proof="none"), then(batch_size=2, correct=False), now(kernel="7.0"))
    assert stale_after(store, results) == ()


def test_cells_that_aged_alike_are_one_group(store: Store, results: Path, save: Save) -> None:
    others = {"batch_size": 4, "operating_system": "Other OS"}
    save(then(), a_record(**others, recorded_at=RECORDED_AT + timedelta(hours=1)))
    named = "cpu-gpt2-fp32-b1-s128-t2-inference"
    older = {"model": "gpt2", "threads": 2, "cell_id": named, "libraries": {"torch": "2.12.0"}}
    save(a_record(**older), now(kernel="7.0"))
    run = Run(run_id="20261121-120000-abcd", started_at=RECORDED_AT, command=COMMAND)
    first, second = sorted(stale_after(store, results, run), key=lambda group: len(group.changes))
    assert (first.cells, first.since, first.planned_by) == (2, RECORDED_AT, COMMAND)
    assert first.axes["batch_size"] == (1, 4)
    assert "image_size" not in first.axes
    assert "threads" not in first.axes
    assert second.changes == ("kernel 6.12.0, now 7.0", "torch 2.12.0, now 2.13.0")
    assert second.axes["model"] == ("gpt2",)
    assert second.axes["threads"] == (2,)


def test_a_replay_in_the_image_of_then_ages_nothing(
    store: Store, results: Path, save: Save
) -> None:
    docker = {"launcher": "docker"}
    save(now(image_digest=NEW, recorded_at=RECORDED_AT, **docker))
    replayed = then(image_digest=OLD, run_id="replay", recorded_at=LATER, **docker)
    save(replayed)
    run = Run(
        run_id="replay",
        started_at=LATER,
        command="orchestrator --quiet replay last/cpu-bert-tiny-fp32-b1-s128-inference",
    )
    (group,) = stale_after(store, results, run)
    assert group.changes == ("image sha256:aaaaaaaaaaaa, now sha256:bbbbbbbbbbbb",)
    assert group.example == replayed.cell_id
    assert group.planned_by is None


def test_what_is_installed_on_this_host_counts(store: Store, results: Path, save: Save) -> None:
    save(then(runner_version="0.1.0"), then(cpu_model="Other CPU"))
    here = Installation(EXAMPLE_HOST, "0.2.0", never)
    (group,) = stale_after(store, results, installed=here)
    assert (group.hostname, group.changes) == ("example-host", ("runner 0.1.0, now 0.2.0",))


def test_an_image_of_other_files_than_todays_is_told(
    store: Store, results: Path, save: Save
) -> None:
    labels = {"built of": "old files"}
    save(then(launcher="docker", image_digest=OLD, image_labels=labels))
    asked: list[tuple[str, Mapping[str, str]]] = []

    def outdated(backend: str, labels: Mapping[str, str]) -> bool:
        asked.append((backend, labels))
        return True

    here = Installation(EXAMPLE_HOST, "0.1.0", outdated)
    (group,) = stale_after(store, results, installed=here)
    assert group.changes == ("image sha256:aaaaaaaaaaaa, and its files here are others now",)
    assert asked == [("cpu", labels)]
