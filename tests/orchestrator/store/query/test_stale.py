"""Proven results age when the software changes below them."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store.query.stale import Installation, Stale
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.orchestrator.store.conftest import Save
from tests.support.records import EXAMPLE_HOST, RECORDED_AT, a_failure, a_record

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
    database: Path, results: Path, *runs: Run, installed: Installation = ELSEWHERE
) -> tuple[Stale, ...]:
    with Store.open(database) as store:
        store.merge([results], *runs)
        return store.stale(installed)


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


def test_what_changed_since_is_told(database: Path, results: Path, save: Save) -> None:
    for change, (before, after) in CHANGED.items():
        save(*on_a_host(change, before, after))
    groups = {group.hostname: group for group in stale_after(database, results)}
    assert {name: group.changes for name, group in groups.items()} == {
        f"host {change}": (change,) for change in CHANGED
    }
    for group in groups.values():
        assert (group.backend, group.runtime) == ("cpu", "torch")
        assert (group.cells, group.since) == (1, RECORDED_AT)
        assert group.example == "cpu-bert-tiny-fp32-b1-s128-inference"


def test_what_is_not_comparable_or_was_measured_anew_is_not_stale(
    database: Path, results: Path, save: Save
) -> None:
    for number, after in enumerate(NOT_STALE):
        save(*on_a_host(number, {}, after))
    save(*on_a_host("stale", {}, {"kernel": "7.0"}))
    assert [group.hostname for group in stale_after(database, results)] == ["host stale"]


@pytest.mark.slow
def test_failures_show_what_runs_now_but_verdicts_of_the_host_do_not(
    database: Path, results: Path, save: Save
) -> None:
    save(then())
    lost = {"run_id": "now", "recorded_at": LATER, "batch_size": 8}
    unknown = {"runner_version": None, "kernel": None, "libraries": None}
    save(a_failure("lost", "gone", **lost, **unknown))
    assert stale_after(database, results) == ()
    save(a_failure("failed", "a bug", kernel="7.0", **lost | {"run_id": "b"}))
    (group,) = stale_after(database, results)
    assert group.changes == ("kernel 6.12.0, now 7.0",)


def test_only_proven_results_can_age(database: Path, results: Path, save: Save) -> None:
    save(then(proof="none"), then(batch_size=2, correct=False), now(kernel="7.0"))
    assert stale_after(database, results) == ()


def test_cells_that_aged_alike_are_one_group(database: Path, results: Path, save: Save) -> None:
    others = {"batch_size": 4, "operating_system": "Other OS"}
    save(then(), a_record(**others, recorded_at=RECORDED_AT + timedelta(hours=1)))
    named = "cpu-gpt2-fp32-b1-s128-t2-inference"
    older = {"model": "gpt2", "threads": 2, "cell_id": named, "libraries": {"torch": "2.12.0"}}
    save(a_record(**older), now(kernel="7.0"))
    run = Run(run_id="20261121-120000-abcd", started_at=RECORDED_AT, command=COMMAND)
    first, second = sorted(
        stale_after(database, results, run), key=lambda group: len(group.changes)
    )
    assert (first.cells, first.since, first.planned_by) == (2, RECORDED_AT, COMMAND)
    assert first.axes["batch_size"] == (1, 4)
    assert "image_size" not in first.axes
    assert "threads" not in first.axes
    assert second.changes == ("kernel 6.12.0, now 7.0", "torch 2.12.0, now 2.13.0")
    assert second.axes["model"] == ("gpt2",)
    assert second.axes["threads"] == (2,)


def test_a_replay_in_the_image_of_then_ages_nothing(
    database: Path, results: Path, save: Save
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
    (group,) = stale_after(database, results, run)
    assert group.changes == ("image sha256:aaaaaaaaaaaa, now sha256:bbbbbbbbbbbb",)
    assert group.example == replayed.cell_id
    assert group.planned_by is None


def test_what_is_installed_on_this_host_counts(database: Path, results: Path, save: Save) -> None:
    save(then(runner_version="0.1.0"), then(cpu_model="Other CPU"))
    here = Installation(EXAMPLE_HOST, "0.2.0", never)
    (group,) = stale_after(database, results, installed=here)
    assert (group.hostname, group.changes) == ("example-host", ("runner 0.1.0, now 0.2.0",))


def test_an_image_of_other_files_than_todays_is_told(
    database: Path, results: Path, save: Save
) -> None:
    labels = {"built of": "old files"}
    save(then(launcher="docker", image_digest=OLD, image_labels=labels))
    asked: list[tuple[str, Mapping[str, str]]] = []

    def outdated(backend: str, labels: Mapping[str, str]) -> bool:
        asked.append((backend, labels))
        return True

    here = Installation(EXAMPLE_HOST, "0.1.0", outdated)
    (group,) = stale_after(database, results, installed=here)
    assert group.changes == ("image sha256:aaaaaaaaaaaa, and its files here are others now",)
    assert asked == [("cpu", labels)]
