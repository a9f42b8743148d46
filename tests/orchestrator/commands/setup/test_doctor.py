"""The doctor puts engine, images, packages and devices together: what runs, what is missing."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.backends.catalogue import CATALOGUE, Stack
from orchestrator.images.image import ImageStatus
from orchestrator.launchers.diagnosis import Diagnosis, diagnose
from orchestrator.launchers.job_user import job_user
from runner.contract.cell import Backend
from runner.contract.errors import EngineUnavailable
from tests.orchestrator.backends.test_probes import MadeUp


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
