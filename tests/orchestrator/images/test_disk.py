"""The space that an image takes is looked for before a build begins."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.backends.catalogue import GIB
from orchestrator.images.disk import LOCAL_URLS, check_disk
from runner.contract.errors import ImageError


def engine(folder: Path, url: str = LOCAL_URLS[0]) -> Any:
    info = {"DockerRootDir": str(folder)}
    return SimpleNamespace(api=SimpleNamespace(base_url=url), info=lambda: info)


@pytest.mark.parametrize(
    ("image", "gibibytes"),
    [("cpu", 3), ("cuda", 20), ("rocm", 40), ("openvino", 4), ("qnn", 4), ("browser", 4)],
)
def test_an_image_that_does_not_fit_is_refused_before_it_begins(
    tmp_path: Path, image: str, gibibytes: int
) -> None:
    check_disk(engine(tmp_path), image, lambda _: gibibytes * GIB)
    with pytest.raises(ImageError, match=f"image {image}: it takes about {gibibytes}GiB"):
        check_disk(engine(tmp_path), image, lambda _: gibibytes * GIB - 1)


def test_a_remote_engines_disk_cannot_be_seen(tmp_path: Path) -> None:
    check_disk(engine(tmp_path, "http://elsewhere:2375"), "cuda", lambda _: 0)
