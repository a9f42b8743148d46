"""What a backend needs beside the orchestrator, and how to get it."""

import re

import pytest

from orchestrator.backends.catalogue import DEVICES
from orchestrator.backends.stacks import STACKS, Stack, require_stack, why_not_system
from runner.contract.cell import Backend
from runner.contract.errors import Unavailable
from tests.conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_what_is_installed_is_enough() -> None:
    require_stack("cpu", {"cpu": Stack("pydantic", "get it")})


def test_what_is_not_installed_is_named_with_its_remedy() -> None:
    with pytest.raises(Unavailable, match="no_such_package, which is not installed") as caught:
        require_stack("qnn", {"qnn": Stack("no_such_package", "get it")})
    assert caught.value.hint == "get it"


def test_a_backend_of_another_system_is_unavailable_whatever_is_installed() -> None:
    with pytest.raises(Unavailable) as caught:
        require_stack("mps", system="linux")
    assert str(caught.value) == "backend mps exists on macOS alone, and this is Linux"
    assert caught.value.hint == "run it on a machine with macOS"


def test_what_cannot_be_on_a_system_is_known_without_a_look_at_packages() -> None:
    assert why_not_system("mps", system="darwin") is None
    assert why_not_system("cpu", system="win32") is None
    assert why_not_system("fake", system="linux") is None
    assert "exists on macOS alone" in str(why_not_system("mps", system="linux"))


def test_on_its_own_system_it_needs_its_package() -> None:
    stacks: dict[Backend, Stack] = {"mps": Stack("pydantic", "get it", systems=("darwin",))}
    require_stack("mps", stacks, system="darwin")


def test_a_backend_without_a_stack_needs_none() -> None:
    require_stack("fake")


@pytest.mark.parametrize("backend", STACKS)
def test_every_remedy_is_one_that_exists(backend: Backend) -> None:
    remedy = STACKS[backend].remedy
    for target in re.findall(r"`make (\w+)`", remedy):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)
    assert ("container" in remedy) == ("docker" in DEVICES[backend].launchers)
