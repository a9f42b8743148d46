"""Digests of base images: none is written that no registry said."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.digests import DigestError, faults, fill, main

DIGEST = "sha256:" + "1" * 64
PYTHON = "python:3.11-slim-bookworm"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "runner").mkdir()
    for name in ("cpu", "openvino"):
        folder = tmp_path / "images" / name
        folder.mkdir(parents=True)
        shutil.copy(ROOT / f"images/{name}/Dockerfile", folder)
    write(tmp_path, {PYTHON: None})
    return tmp_path


def write(root: Path, digests: dict[str, str | None]) -> None:
    (root / "images/bases.json").write_text(json.dumps(digests))


def fake_docker(folder: Path, digests: list[str], status: int = 0) -> str:
    program = folder / "docker"
    answer = json.dumps([{"RepoDigests": digests}])
    program.write_text(f"#!/bin/sh\necho '{answer}'; echo no such host >&2\nexit {status}\n")
    program.chmod(0o755)
    return str(program)


def test_this_checkouts_bases_are_the_dockerfiles() -> None:
    assert list(faults()) == []
    assert main(["check"]) == 0


@pytest.mark.parametrize(
    ("digests", "require", "messages"),
    [
        ({PYTHON: None}, False, []),
        (
            {PYTHON: None},
            True,
            [f"{PYTHON} has no digest: `python -m tools.digests fill` asks its registry"],
        ),
        ({PYTHON: DIGEST}, True, []),
        ({}, False, [f"{PYTHON} is missing"]),
        ({PYTHON: "latest"}, False, [f"{PYTHON}: 'latest' is no digest"]),
        ({PYTHON: None, "debian:12": None}, False, ["debian:12 is no Dockerfile's base"]),
    ],
)
def test_bases_are_those_of_dockerfiles_with_digests_or_none(
    checkout: Path, digests: dict[str, str | None], require: bool, messages: list[str]
) -> None:
    write(checkout, digests)
    assert list(faults(checkout, require=require)) == messages


def test_digests_are_those_that_a_registry_says(checkout: Path) -> None:
    fill(checkout, fake_docker(checkout, [f"python@{DIGEST}"]))
    assert json.loads((checkout / "images/bases.json").read_text()) == {PYTHON: DIGEST}


@pytest.mark.parametrize(("status", "message"), [(0, "no registry has told"), (1, "no such host")])
def test_an_image_that_was_made_here_gets_no_digest(
    checkout: Path, status: int, message: str
) -> None:
    with pytest.raises(DigestError, match=message):
        fill(checkout, fake_docker(checkout, [], status))
    assert json.loads((checkout / "images/bases.json").read_text()) == {PYTHON: None}
