"""`doctor` and `images`: what is on this machine."""

import json
from typing import Any

import pytest

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.measure import calibrate
from orchestrator.images.image import Image
from orchestrator.matrix import load_matrix
from orchestrator.running.calibration import CALIBRATION_NAME
from tests.support.command_line import complains
from tests.support.workplace import Workplace


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
    table = place.do("images", "list").stdout
    assert cpu_image.reference in table


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
