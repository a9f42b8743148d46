"""What is printed of long ids and reasons, on terminals of several widths."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.database.retention import StaleFile
from orchestrator.commands.database.table import (
    print_maintained,
    print_stale_files,
    print_validation,
)
from orchestrator.commands.exchange.imports_words import print_import
from orchestrator.commands.measure.plan import PlanReport
from orchestrator.commands.measure.plan_words import print_plan
from orchestrator.commands.measure.prepare import Preparation, PreparedGraph
from orchestrator.commands.measure.replay import Replay
from orchestrator.commands.measure.replay_words import print_replay
from orchestrator.commands.measure.verify_words import print_prepared, print_verification
from orchestrator.commands.setup.doctor_words import print_diagnoses
from orchestrator.commands.setup.images_words import print_images
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.images import Image, ImageStatus
from orchestrator.launchers.diagnosis import Diagnosis
from orchestrator.store import Finding
from tests.orchestrator.commands.database.test_database import DONE as MAINTAINED
from tests.orchestrator.commands.database.test_database import EXAMPLES, a_validation
from tests.orchestrator.commands.exchange.test_imports_screen import DATABASE, DONE, READING
from tests.orchestrator.commands.measure.test_replay_screen import THEN
from tests.orchestrator.conftest import Screen
from tests.support.jobs import fake_cell
from tests.support.results import a_cell, a_measurement, a_verification
from tests.support.runs import a_plan
from tests.support.terminal import WIDTHS, a_terminal, require_fit

MODEL = "a-fine-tuned-model-whose-name-is-as-long-as-those-on-the-hub-are-instruct-v1.6"
FOLDER = Path("results/20261122-165247-9bd1/records") / MODEL
REASON = (
    "int8 is not possible with torch_compile on cpu: the quantised layers of torch.ao hold packed"
    " weights, which torch.compile leaves to eager mode; `make openvino` installs another runtime"
)
DIGEST = f"sha256:{'9a' * 32}"
IMAGE = Image(
    "accelmatrix-browser:0.1.0", DIGEST, DIGEST, {}, "amd64", 3 << 30, "2026-11-22T16:52:47Z"
)
RESULT = f"20261122-165247-9bd1/{MODEL}-fp32-b1-s128-inference"
FILES = (
    FileOutcome(FOLDER / "a.json", "1" * 64, "a-format", "somebody", READING),
    FileOutcome(FOLDER / "b.json", "3" * 64, refused=REASON),
)


def of_path(backend: str, runtime: str, precision: str) -> Any:
    mark = "ok" if precision == "fp32" else "unsupported"
    return a_cell(mark, REASON, model=MODEL, backend=backend, runtime=runtime, precision=precision)


def diagnoses(*, everything: bool) -> None:
    rows = [
        Diagnosis("cpu", "docker", False, 1, REASON, "start the engine", could_run=True),
        Diagnosis("cpu", "process", True, 1, REASON, None),
        Diagnosis("cuda", "docker", False, 3, REASON, f"{REASON}; is a GPU plugged in?"),
        Diagnosis("wasm", "process", False, None, REASON, None),
    ]
    print_diagnoses(rows, everything=everything, as_json=False)


def images(*, wide: bool) -> None:
    backends = ("webnn", "webgpu", "wasm")
    reference = f"registry.example.org/benchmarks/of/the/whole/laboratory/{IMAGE.reference}"
    statuses = [
        ImageStatus("browser", backends, IMAGE.reference, None, IMAGE, fresh=True),
        ImageStatus("browser", backends, reference, None, None, fresh=False),
    ]
    print_images(statuses, wide=wide, as_json=False)


def graphs() -> None:
    made = PreparedGraph(MODEL, "forward", "fp32", "dynamic", "parts", 1.5e-7, 2 << 20, 4.51)
    failed = PreparedGraph(MODEL, "decode", "fp32", "b1-s128-n32", failure=REASON)
    print_prepared(Preparation((made, failed)), as_json=False)


def verification() -> None:
    paths = (("cpu", "torch"), ("cpu", "torch_compile"), ("cpu", "onnxruntime"))
    paths = (*paths, ("openvino", "openvino"), ("qnn", "onnxruntime"))
    cells = [of_path(*path, precision) for path in paths for precision in ("fp32", "int8")]
    print_verification(a_verification(*cells), as_json=False)


def findings() -> None:
    error = Finding("impossible value", "error", "somebody-else", 1234567, EXAMPLES, REASON)
    warning = Finding("unsure", "warning", None, 1, (f"{RESULT}: {REASON}",), REASON)
    print_validation(a_validation(error, warning), Path("a.duckdb"), as_json=False)


def plan() -> None:
    cells = [fake_cell(size, model=name) for name in ("gpt2", MODEL) for size in (1, 2, 4)]
    planned = a_plan(cells, skips=dict.fromkeys([fake_cell(8), fake_cell(16)], REASON))
    print_plan(PlanReport(planned, ()), as_json=False)


def replay() -> None:
    names = {"result_id": RESULT, "cell_id": RESULT, "hostname": f"{MODEL}.example.org"}
    print_replay(Replay(THEN, a_measurement(**names)), as_json=False)


OUTPUTS: dict[str, Callable[[], None]] = {
    "doctor": partial(diagnoses, everything=False),
    "doctor --all": partial(diagnoses, everything=True),
    "images list": partial(images, wide=False),
    "images list --wide": partial(images, wide=True),
    "plan": plan,
    "run --prepare-only": graphs,
    "verify": verification,
    "replay": replay,
    "validate": findings,
    "import": lambda: print_import(FILES, DONE, (), DATABASE, as_json=False),
    "import of nothing": lambda: print_import(FILES[1:], DONE, (), DATABASE, as_json=False),
    "maintain": lambda: print_maintained(MAINTAINED, as_json=False),
    "run --prepare-only --prune": lambda: print_stale_files(
        [StaleFile("graph", FOLDER, 3 << 20)], removed=False, as_json=False
    ),
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_long_names_and_reasons_fit_the_terminal(screen: Screen, output: str) -> None:
    OUTPUTS[output]()
    whole = "\n".join(screen.printed())
    for width in WIDTHS:
        with a_terminal(width, sys.stdout):
            OUTPUTS[output]()
        require_fit("\n".join(screen.printed()), width, whole)


def test_reasons_of_a_plan_stand_once(screen: Screen) -> None:
    plan()
    lines = screen.printed()
    assert [line.split()[-1] for line in lines if " skip " in line] == ["[1]", "[1]"]
    assert [line for line in lines if REASON in line] == [f"[1] {REASON}"]
