"""`doctor` and `images`: engine, images, packages, devices and browsers; a machine as a runner."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.catalogue import CATALOGUE, Stack
from orchestrator.commands.measure import calibrate
from orchestrator.commands.setup import doctor_command
from orchestrator.commands.setup.doctor_command import BrowserFinding, try_browsers
from orchestrator.commands.setup.runner_machine import RunnerMachine, check_runner
from orchestrator.images.image import Image, ImageStatus
from orchestrator.launchers.diagnosis import Diagnosis, diagnose
from orchestrator.launchers.job_user import job_user
from orchestrator.matrix import load_matrix
from orchestrator.running.calibration import CALIBRATION_NAME
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, EngineUnavailable
from runner.contract.host import FrequencyPolicy
from tests.orchestrator.backends.test_probes import MadeUp
from tests.support.command_line import complains
from tests.support.needs import lacking
from tests.support.words import raises_words
from tests.support.workplace import Workplace


def no_engine() -> Sequence[ImageStatus]:
    raise EngineUnavailable("no container engine answers", hint="start it")


def shelf() -> Sequence[ImageStatus]:
    names = {device.image for device in CATALOGUE.values() if device.image}
    return [
        ImageStatus(
            name=name,
            backends=tuple(key for key, device in CATALOGUE.items() if device.image == name),
            reference=f"accelmatrix-{name}:0",
            support_class=None,
            image=None,
            fresh=name == "cpu",
        )
        for name in sorted(names)
    ]


def finding(found: list[Diagnosis], backend: str, launcher: str) -> Diagnosis:
    (one,) = [each for each in found if (each.backend, each.launcher) == (backend, launcher)]
    return one


def test_a_machine_with_an_engine_runs_cpu_jobs_in_containers() -> None:
    found = finding(diagnose(MadeUp(engine_info={}), shelf), "cpu", "docker")
    assert (found.runs, found.remedy) == (True, None)
    user = job_user({}, os.getuid(), os.getgid()).description
    assert found.reason == f"the image accelmatrix-cpu:0 is at hand; jobs execute as {user}"
    assert [check.kind for check in found.checks] == ["image", "user"]


def test_an_engine_that_cannot_give_jobs_a_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    found = finding(diagnose(MadeUp(engine_info={"Rootless": True}), shelf), "cpu", "docker")
    assert not found.runs
    assert found.reason == "the engine is rootless, so its containers cannot write what root owns"
    assert "user who started the engine" in str(found.remedy)


def test_without_an_engine_no_backend_runs_in_containers() -> None:
    found = diagnose(MadeUp(), no_engine)
    assert not any(each.runs for each in found if each.launcher == "docker")
    cpu = finding(found, "cpu", "docker")
    assert (cpu.reason, cpu.remedy) == ("no container engine answers", "start it")


def test_all_that_is_missing_is_told_with_all_that_helps() -> None:
    for backend in ("cuda", "rocm"):
        found = finding(diagnose(MadeUp(), shelf), backend, "process")
        assert not found.runs
        missing = [check for check in found.checks if not check.ok]
        assert len(missing) >= 2
        assert all(check.message in found.reason for check in missing)
        assert all(str(check.remedy) in str(found.remedy) for check in missing)


HERE, LACKING = Stack("pydantic", "get it"), Stack("no_such_package", "`make cpu` installs it")


def by_process(
    backend: Backend, cpu: Stack = HERE, *, there: Sequence[str] = (), devices: str | None = "CPU"
) -> Diagnosis:
    """What the doctor finds with this exporter, and nodes that this user may not use."""
    catalogue = dict(CATALOGUE)
    catalogue["cpu"] = replace(CATALOGUE["cpu"], stack=cpu)
    catalogue[backend] = replace(CATALOGUE[backend], stack=HERE)
    says = {Path(sys.executable).name: devices} if devices else {}
    host = MadeUp(
        there=tuple(there), forbidden=tuple(there), says=says, versions={"openvino": "2026.4.1"}
    )
    return finding(diagnose(host, no_engine, catalogue), backend, "process")


@pytest.mark.parametrize("backend", ["openvino", "qnn"])
def test_prepared_graphs_need_their_exporter(backend: Backend) -> None:
    assert by_process(backend).runs
    found = by_process(backend, cpu=LACKING)
    assert not found.runs
    assert "its graphs are exported with the stack of backend cpu" in found.reason
    assert "no_such_package, which is not installed here" in found.reason
    assert str(found.remedy).startswith("`make cpu` installs it")


def test_a_remark_stops_nothing_and_is_told_with_its_remedy() -> None:
    found = by_process("openvino", there=["/dev/dri/renderD128"])
    assert found.runs
    assert "this user may not use /dev/dri/renderD128" in found.reason
    assert "usermod" in str(found.remedy)


def findings(place: Workplace) -> dict[tuple[str, str], dict[str, Any]]:
    done = place.do("doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return {(row["backend"], row["launcher"]): row for row in json.loads(done.stdout)}


def without_engine(place: Workplace) -> Workplace:
    place.environment["DOCKER_HOST"] = f"unix://{place.folder}/no-engine.sock"
    return place


def test_the_doctor_looks_at_every_backend_by_every_launcher(place: Workplace) -> None:
    found = findings(without_engine(place))
    assert set(found) == {
        (backend, launcher)
        for backend, device in CATALOGUE.items()
        for launcher in device.launchers
        if backend != "fake"
    }
    assert found["cpu", "process"]["runs"]
    assert found["cpu", "process"]["support_class"] == 1
    assert not found["wasm", "docker"]["runs"]
    assert "no container engine answers" in found["wasm", "docker"]["reason"]


@pytest.mark.parametrize("option", [("--launcher", "process"), ("--results", "elsewhere")])
def test_where_to_calibrate_is_refused_without_a_calibration(
    place: Workplace, option: tuple[str, str]
) -> None:
    complains(place.do("doctor", *option), 2, "they belong to --calibrate")


@pytest.mark.slow
def test_a_calibration_says_how_long_it_takes_and_keeps_what_processes_differ_by(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write_matrix(batch_sizes=(1,), rounds=2)
    matrix = load_matrix(place.folder / "matrix.yaml")
    monkeypatch.setattr(calibrate, "calibration_matrix", lambda launcher: matrix)
    done = place.do("doctor", "--calibrate", "--launcher", "process", "--scratch")
    assert done.returncode == 0, done.stderr
    assert "calibrating: 2 processes of 1 runtime, about 1 min" in done.stderr
    assert "differ by %" in done.stdout
    assert CALIBRATION_NAME in done.stdout
    kept = json.loads((place.folder / "results" / CALIBRATION_NAME).read_text())
    ((path, spread),) = next(iter(kept["hosts"].values())).items()
    assert (path.rpartition("/")[0], spread["processes"]) == ("fake/fake", 2)
    place.write_matrix(batch_sizes=(1,))
    assert place.run().returncode == 0
    place.check("ok")
    (row,) = place.ask(f"SELECT * FROM benchmark_results WHERE run_id = '{place.run_folder.name}'")
    assert row["process_spread"] == spread["cv"]
    assert row["process_spread_source"].startswith("calibration with 2 processes")


@pytest.mark.engine
@pytest.mark.slow
def test_the_doctor_finds_the_image(place: Workplace, cpu_image: Image) -> None:
    finding = findings(place)["cpu", "docker"]
    assert (finding["runs"], finding["remedy"]) == (True, None)
    assert cpu_image.reference in finding["reason"]


def test_the_doctor_begins_with_what_runs_here_and_what_could(place: Workplace) -> None:
    first, *others = without_engine(place).do("doctor").stdout.splitlines()
    assert first.startswith("Runs here: cpu")
    assert "by process" in first
    assert any(
        line.startswith("Could run: cpu, ") and "start the engine" in line for line in others
    )
    assert not any("Not built" in line for line in others)
    assert others[-1] == "Why: `orchestrator doctor --all`"


@pytest.mark.engine
@pytest.mark.slow
def test_images_are_listed_with_their_state(place: Workplace, cpu_image: Image) -> None:
    rows = {row["name"]: row for row in json.loads(place.do("images", "list", "--json").stdout)}
    assert rows["cpu"]["fresh"]
    assert rows["cpu"]["image"]["digest"] == cpu_image.digest
    assert rows["browser"]["backends"] == ["webnn", "webgpu", "wasm"]
    assert cpu_image.reference in place.do("images", "list").stdout


def test_without_an_engine_images_end_with_its_exit_code(place: Workplace) -> None:
    complains(without_engine(place).do("images", "list"), 4, "no container engine answers")


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["build", "tpu"], 2, "'tpu' is unknown; did you mean cpu? (cpu, cuda"),
        (["pull", "cpu"], 5, "no registry is configured"),
    ],
    ids=["unknown", "no-registry"],
)
def test_what_images_cannot_do_is_said(
    place: Workplace, engine: None, arguments: list[str], code: int, words: str
) -> None:
    complains(place.do("images", *arguments), code, words)


WASM = BrowserFinding("our own", "/b/chromium", "153", "wasm", True, "AMD EPYC")
FIREFOX = BrowserFinding("firefox", "/usr/bin/firefox", None, None, False, "not driven: …")


@pytest.fixture
def with_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_command, "require_stack", lambda *_, **__: None)


def a_trial(folder: Path, script: str) -> str:
    """An interpreter that does this, whatever it is asked."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_each_line_of_the_trial_of_browsers_is_a_finding(tmp_path: Path, with_stack: None) -> None:
    lines = "\n".join(json.dumps(vars(one)) for one in (WASM, FIREFOX))
    assert try_browsers(a_trial(tmp_path, f"print({lines!r})")) == [WASM, FIREFOX]


@pytest.mark.parametrize(
    ("script", "patience_s", "message"),
    [
        ("sys.exit('boom')", 60, "the trial of browsers failed: boom"),
        ("import time; time.sleep(60)", 0.2, "did not end within 0.2 s"),
    ],
)
def test_a_trial_that_fails_says_why(
    script: str,
    patience_s: float,
    message: str,
    tmp_path: Path,
    with_stack: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor_command, "TRIAL_S", patience_s)
    with raises_words(BenchError, match=message):
        try_browsers(a_trial(tmp_path, script))


@pytest.mark.nightly
def test_our_own_browser_has_all_three_and_each_other_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, with_stack: None
) -> None:
    browser = pytest.importorskip("runner.backends.onnxruntime_web.browser")
    if not browser.OWN_BROWSER.is_file():
        lacking("no browser: `make browser`")
    for name, script in (("microsoft-edge", "exit 3"), ("firefox", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = {(one.browser, one.backend): one for one in try_browsers()}
    assert all(found["our own", backend].works for backend in ("wasm", "webgpu", "webnn"))
    assert "the browser microsoft-edge does not start" in found["edge", "wasm"].message
    assert found["firefox", None].message.startswith("not driven")


GOOD = RunnerMachine(
    clock=FrequencyPolicy("performance"),
    programs=("git", "tar", "python3"),
    free_bytes=100 << 30,
    load=0.0,
    listeners=1,
    user_id=1000,
)


def diagnosed(backend: Any, *, launcher: Any = "docker", **facts: Any) -> Diagnosis:
    return Diagnosis(backend, launcher, **{"runs": True, "reason": "", "remedy": None, **facts},
                     support_class=1)  # fmt: skip


CPU = diagnosed("cpu")
ROWS = [
    CPU,
    diagnosed("cpu", launcher="process"),
    diagnosed("openvino"),
    diagnosed("cuda", runs=False),
    diagnosed("qnn", simulated=True),
]


def test_a_good_runner_is_found_by_the_labels_of_what_runs() -> None:
    report = check_runner(GOOD, ROWS)
    assert report.is_ready
    assert [check.name for check in report.checks if not check.ok] == []
    assert (report.backends, report.labels) == (["cpu", "openvino"], ["cpu", "openvino"])


@pytest.mark.parametrize(
    ("change", "name", "ready", "words"),
    [
        ({"programs": ("tar",)}, "programs", False, "missing: git, python3"),
        ({"free_bytes": 1 << 30}, "disk", False, "1GiB free"),
        ({"user_id": 0}, "user", False, "root"),
        ({"listeners": 2}, "runners", True, "2 registered here"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    change: dict[str, Any], name: str, ready: bool, words: str
) -> None:
    report = check_runner(replace(GOOD, **change), ROWS)
    (check,) = [check for check in report.checks if not check.ok]
    assert (check.name, check.message, report.is_ready) == (name, words, ready)
    assert check.remedy


@pytest.mark.parametrize(
    ("rows", "missing", "ready"),
    [
        ([], ["backends", "containers"], False),
        ([diagnosed("cpu", launcher="process")], ["containers"], True),
    ],
)
def test_without_an_engine_jobs_are_processes_and_without_a_backend_there_are_none(
    rows: list[Diagnosis], missing: list[str], ready: bool
) -> None:
    report = check_runner(GOOD, rows)
    assert [check.name for check in report.checks if not check.ok] == missing
    assert report.is_ready is ready
