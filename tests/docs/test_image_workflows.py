"""The weekly images: of the last release, on a machine that has room for them, then verified."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.backends.catalogue import CATALOGUE, image_names
from tests.conftest import ROOT

GIB = 1 << 30
FREE_ON_HOSTED_RUNNERS = 14 * GIB
TAG_OF_RELEASE = "refs/tags/${{ needs.name.outputs.release }}"


def jobs(name: str) -> Mapping[str, Any]:
    return dict(yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))["jobs"])


def script(job: Mapping[str, Any], title: str) -> str:
    (step,) = [step for step in job["steps"] if step.get("name") == title]
    return str(step["run"])


def checked_out(job: Mapping[str, Any]) -> list[str]:
    """What each checkout of a job takes."""
    steps = [step for step in job["steps"] if "actions/checkout@" in step.get("uses", "")]
    return [step["with"].get("ref", "") for step in steps]


def execute(
    folder: Path, script: str, program: str, answer: str, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Execute a step, with a stand-in for one program."""
    (folder / program).write_text(f"#!/bin/bash\n{answer}\n")
    (folder / program).chmod(0o755)
    known = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "GITHUB_OUTPUT": str(folder / "output"),
        **variables,
    }
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_built_and_verified_weekly_is_the_last_release() -> None:
    weekly, builds = jobs("images.yml"), jobs("build-images.yml")
    assert weekly["build"]["with"]["ref"] == TAG_OF_RELEASE
    assert checked_out(weekly["verify"]) == [TAG_OF_RELEASE]
    for job in builds.values():
        assert checked_out(job) == ["${{ inputs.ref || github.sha }}"]


@pytest.mark.parametrize(("release", "tag"), [("v1.2.3", "1.2.3"), ("", "")])
def test_the_last_release_names_the_tag(tmp_path: Path, release: str, tag: str) -> None:
    name = jobs("images.yml")["name"]
    (title,) = [step["name"] for step in name["steps"]]
    answer = f"echo {release}"
    done = execute(tmp_path, script(name, title), "gh", answer, GITHUB_REPOSITORY="somebody/x")
    assert done.returncode == 0, done.stderr
    output = (tmp_path / "output").read_text()
    assert re.fullmatch(rf"release={release}\ntag={tag}-\d{{8}}\n", output)
    assert ("no release yet" in done.stdout) == (not release)
    assert jobs("images.yml")["build"]["if"] == "${{ needs.name.outputs.release != '' }}"


def test_images_that_do_not_fit_on_a_hosted_runner_say_what_they_need() -> None:
    needed = {
        name: max(CATALOGUE[backend].image_build_bytes for backend in backends)
        for name, backends in image_names().items()
    }
    include = jobs("build-images.yml")["build"]["strategy"]["matrix"]["include"]
    stated = {entry["image"]: entry["disk"] for entry in include if "disk" in entry}
    large = {
        name: bytes_ // GIB for name, bytes_ in needed.items() if bytes_ > FREE_ON_HOSTED_RUNNERS
    }
    assert stated == large


@pytest.mark.parametrize(("free", "code"), [(41, 0), (39, 1)])
def test_too_little_disk_stops_a_build_before_it_begins(
    tmp_path: Path, free: int, code: int
) -> None:
    check = script(jobs("build-images.yml")["build"], "See that the image fits")
    answer = f"echo Avail; echo '  {free}'"
    done = execute(tmp_path, check, "df", answer, IMAGE="rocm", NEEDED="40")
    assert done.returncode == code, done.stderr
    words = f"The image rocm wants 40 GiB of disk to build, and {free} are free"
    assert (words in done.stdout, "LARGE_RUNNER" in done.stdout) == (bool(code), bool(code))
