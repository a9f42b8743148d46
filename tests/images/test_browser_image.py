"""The built image of browsers: all three backends in a container that may do next to nothing."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.images.image import Image
from runner.contract.axes import Backend
from tests.support.workplace import Workplace

pytestmark = [pytest.mark.engine, pytest.mark.nightly]
"""Building the image from nothing takes two minutes."""

STRICT = (
    *("docker", "run", "--rm", "--network=none", "--read-only", "--tmpfs=/tmp"),
    *("--cap-drop=ALL", "--security-opt=no-new-privileges"),
)
MATRIX = """
version: 1
axes: {model: bert-tiny, backend: [wasm, webnn], sequence_length: 16}
measure:
  {profile: quick, iterations: 3, min_duration: 0s, max_duration: 2s, warmup_max_duration: 1s}
"""
MEMORY = ("memory_peak_bytes", "memory_steady_peak_bytes", "memory_average_bytes")
SHOWN = f"""
SELECT backend, status, proof, correct, software_device, memory_method, memory_wasm_bytes,
       {", ".join(MEMORY)}
FROM benchmark_results ORDER BY backend
"""


@pytest.fixture(scope="module")
def image(built_image: Callable[[Backend], Image]) -> Image:
    return built_image("wasm")


@pytest.mark.parametrize(
    "user",
    ["4321:4321", *(pytest.param(f"{n}:{n}", marks=pytest.mark.nightly) for n in (65534, 61100))],
)
def test_any_user_has_the_three_backends_without_rights_and_network(
    image: Image, user: str
) -> None:
    trial = ("-m", "runner.backends.onnxruntime_web.browser_trial")
    command = [*STRICT, f"--user={user}", "--entrypoint=python", image.id, *trial]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    assert {finding["backend"]: finding["works"] for finding in findings} == {
        "wasm": True,
        "webnn": True,
        "webgpu": True,
    }, findings


def test_cells_in_its_container_are_proven_correct_and_have_a_memory(
    image: Image, tmp_path: Path
) -> None:
    user = Workplace(tmp_path, "docker")
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    done = user.do("run", "matrix.yaml", "--launcher", "docker")
    assert done.returncode == 0, done.stderr
    rows = user.ask(SHOWN)
    assert [row["backend"] for row in rows] == ["wasm", "webnn"]
    for row in rows:
        assert (row["status"], row["proof"], row["correct"]) == ("ok", "proven", True)
        assert not row["software_device"]
        assert str(row["memory_method"]).startswith("cgroup v")
        assert all(row[name] > row["memory_wasm_bytes"] > 1 << 20 for name in MEMORY)
    assert user.containers() == []
    left = [path for path in tmp_path.rglob("*") if path.stat().st_uid != os.getuid()]
    assert left == []
