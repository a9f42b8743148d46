"""The engine's account of a build, and the space that an image takes, looked for before it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.backends.catalogue import GIB
from orchestrator.images.build import LOCAL_URLS, build_steps, check_disk, follow, ignore
from runner.contract.errors import ImageError
from tests.support.words import raises_words


def test_the_account_of_a_build_becomes_lines_without_progress_bars() -> None:
    lines: list[str] = []
    events: list[dict[str, Any]] = [
        {"stream": "Step 1\n"},
        {"stream": "\n"},
        {"status": "Pulling", "id": "abc", "progressDetail": {}},
        {"status": "Downloading", "id": "abc", "progressDetail": {"current": 1}},
        {"aux": {"ID": "sha256:1"}},
    ]
    follow(events, lines.append)
    assert lines == ["Step 1", "abc: Pulling"]


def test_a_failure_inside_the_account_is_raised() -> None:
    with raises_words(ImageError, match="no space left"):
        follow([{"stream": "a"}, {"error": "no space left\n"}], ignore)


def engine(folder: Path, url: str = LOCAL_URLS[0]) -> Any:
    info = {"DockerRootDir": str(folder)}
    return SimpleNamespace(api=SimpleNamespace(base_url=url), info=lambda: info)


@pytest.mark.parametrize(("image", "gibibytes"), [("cpu", 3), ("cuda", 20)])
def test_an_image_that_does_not_fit_is_refused(tmp_path: Path, image: str, gibibytes: int) -> None:
    check_disk(engine(tmp_path), image, lambda _: gibibytes * GIB)
    with raises_words(ImageError, match=f"image {image}: it takes about {gibibytes}GiB"):
        check_disk(engine(tmp_path), image, lambda _: gibibytes * GIB - 1)


def test_a_remote_engines_disk_cannot_be_seen(tmp_path: Path) -> None:
    check_disk(engine(tmp_path, "http://elsewhere:2375"), "cuda", lambda _: 0)


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (
            "Step 3/18 : RUN --mount=type=cache,target=/x pip install --no-cache-dir "
            "--require-hashes -r requirements.txt",
            ["building openvino: step 3/18, pip install --no-cache-dir …, 1m12s"],
        ),
        ("Step 1/18 : FROM python", ["building openvino: step 1/18, FROM python, 1m12s"]),
        (" ---> Running in 0123456789ab", []),
    ],
)
def test_a_step_is_reported_with_the_time_gone_by(line: str, reported: list[str]) -> None:
    moments = iter((100.0, 172.0))
    lines: list[str] = []
    build_steps("openvino", lines.append, lambda: next(moments))(line)
    assert lines == reported
    assert all(len(line) < 80 for line in lines)
