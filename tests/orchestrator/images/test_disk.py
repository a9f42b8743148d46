"""The space that an image takes is looked for before a build begins."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.images.disk import DEFAULT_NEEDED_BYTES, LOCAL_URLS, NEEDED_BYTES, check_disk
from runner.contract.errors import ImageError


def engine(folder: Path, url: str = LOCAL_URLS[0]) -> Any:
    info = {"DockerRootDir": str(folder)}
    return SimpleNamespace(api=SimpleNamespace(base_url=url), info=lambda: info)


def test_an_image_without_a_line_of_its_own_needs_what_is_documented(tmp_path: Path) -> None:
    assert "toy" not in NEEDED_BYTES
    check_disk(engine(tmp_path), "toy", lambda _: DEFAULT_NEEDED_BYTES)
    with pytest.raises(ImageError, match="image toy: it takes about 4GiB"):
        check_disk(engine(tmp_path), "toy", lambda _: DEFAULT_NEEDED_BYTES - 1)


def test_a_line_of_its_own_goes_first(tmp_path: Path) -> None:
    check_disk(engine(tmp_path), "cpu", lambda _: NEEDED_BYTES["cpu"])
    with pytest.raises(ImageError, match="image cuda: it takes about 20GiB"):
        check_disk(engine(tmp_path), "cuda", lambda _: DEFAULT_NEEDED_BYTES)


def test_a_remote_engines_disk_cannot_be_seen(tmp_path: Path) -> None:
    check_disk(engine(tmp_path, "http://elsewhere:2375"), "toy", lambda _: 0)
