"""The weekly images: of the last release, on a machine that has room for them, then verified."""

from collections.abc import Mapping
from typing import Any

import yaml

from orchestrator.backends.catalogue import CATALOGUE, image_names
from tests.conftest import ROOT

GIB = 1 << 30
FREE_ON_HOSTED_RUNNERS = 14 * GIB
TAG_OF_RELEASE = "refs/tags/${{ needs.name.outputs.release }}"


def jobs(name: str) -> Mapping[str, Any]:
    return dict(yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))["jobs"])


def checked_out(job: Mapping[str, Any]) -> list[str]:
    """What each checkout of a job takes."""
    steps = [step for step in job["steps"] if "actions/checkout@" in step.get("uses", "")]
    return [step["with"].get("ref", "") for step in steps]


def test_what_is_built_and_verified_weekly_is_the_last_release() -> None:
    weekly, builds = jobs("images.yml"), jobs("build-images.yml")
    assert weekly["build"]["with"]["ref"] == TAG_OF_RELEASE
    assert checked_out(weekly["verify"]) == [TAG_OF_RELEASE]
    for job in builds.values():
        assert checked_out(job) == ["${{ inputs.ref || github.sha }}"]


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
