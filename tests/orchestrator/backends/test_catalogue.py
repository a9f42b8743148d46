"""The catalogue: every backend has one complete row."""

import re

import pytest

from orchestrator.backends.catalogue import CATALOGUE, GIB
from runner.contract.axes import Backend
from runner.contract.cell import DEFAULT_RUNTIMES
from runner.contract.support import SUPPORTED
from tests.conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_backends_on_the_same_hardware_share_a_lock() -> None:
    assert CATALOGUE["cpu"].locks & CATALOGUE["wasm"].locks & CATALOGUE["openvino"].locks == {"cpu"}
    assert not CATALOGUE["cpu"].locks & CATALOGUE["cuda"].locks
    assert CATALOGUE["webgpu"].locks >= CATALOGUE["cuda"].locks


@pytest.mark.parametrize("backend", CATALOGUE)
def test_every_row_is_sound(backend: Backend) -> None:
    spec = CATALOGUE[backend]
    assert "self-hosted" in spec.runner_labels
    assert ("docker" in spec.launchers) == (spec.image is not None)
    assert (spec.support_class == 2) == (spec.measured_by_hand is not None)
    assert spec.operations_per_second > 0
    assert 3 * GIB <= spec.image_build_bytes <= 40 * GIB


@pytest.mark.parametrize("backend", [name for name, spec in CATALOGUE.items() if spec.stack])
def test_what_is_measured_by_default_is_supported(backend: Backend) -> None:
    spec, runtime = CATALOGUE[backend], DEFAULT_RUNTIMES[backend]
    assert set(spec.precisions) <= SUPPORTED[backend, runtime, "inference"]
    assert spec.batch_sizes[0] == 1


@pytest.mark.parametrize("backend", [name for name, spec in CATALOGUE.items() if spec.stack])
def test_every_remedy_is_one_that_exists(backend: Backend) -> None:
    stack = CATALOGUE[backend].stack
    assert stack
    for target in re.findall(r"`make (\w+)`", stack.remedy):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)
