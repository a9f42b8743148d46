"""Jobs execute as the caller, or as nobody that this machine knows; never as its root."""

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.launchers.job_user import (
    UNPRIVILEGED,
    JobUser,
    job_user,
    lend_output,
    let_read,
    require_readable,
)
from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import StoreError, Unavailable
from tests.support.words import raises_words

PLAIN = {"SecurityOptions": ["name=seccomp,profile=default"]}
MAPPING = {"SecurityOptions": ["name=seccomp,profile=default", "name=userns"]}
ROOTLESS = {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless", "name=cgroupns"]}
PODMAN = {"SecurityOptions": ["name=seccomp,profile=default"], "Rootless": False}
ROOTLESS_PODMAN = {**PODMAN, "Rootless": True}
LENT = JobUser(UNPRIVILEGED, UNPRIVILEGED, is_lent_output=True)


@pytest.mark.parametrize(
    ("info", "uid", "user", "words"),
    [
        (PLAIN, 1000, JobUser(1000, 100), "the caller, 1000:100"),
        (PLAIN, 0, LENT, "the unprivileged user 61100:61100, since the caller is root"),
        (
            MAPPING,
            0,
            JobUser(UNPRIVILEGED, UNPRIVILEGED, "host", is_lent_output=True),
            "the unprivileged user 61100:61100, since the caller is root",
        ),
        (
            ROOTLESS,
            1000,
            JobUser(0, 0),
            "the engine's user, who is root inside the container alone",
        ),
        (PODMAN, 0, LENT, "the unprivileged user 61100:61100, since the caller is root"),
    ],
)
def test_the_user_follows_from_caller_and_engine(
    info: dict[str, Any], uid: int, user: JobUser, words: str
) -> None:
    assert job_user(info, uid, 100) == user
    assert user.description == words


@pytest.mark.parametrize("info", [ROOTLESS, ROOTLESS_PODMAN], ids=["docker", "podman"])
def test_root_is_refused_by_a_rootless_engine_in_words(info: dict[str, Any]) -> None:
    with raises_words(Unavailable, match="the engine is rootless") as caught:
        job_user(info, 0, 0)
    assert "user who started the engine" in str(error_hint(caught.value))


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_output_is_lent_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "before").touch()
    with lend_output(tmp_path, LENT):
        assert {tmp_path.stat().st_uid, (tmp_path / "before").stat().st_uid} == {UNPRIVILEGED}
        (tmp_path / "after").touch()
        (tmp_path / "after").chmod(0o4755)
        os.chown(tmp_path / "after", UNPRIVILEGED, UNPRIVILEGED)
    assert {path.stat().st_uid for path in (tmp_path, *tmp_path.iterdir())} == {0}
    assert (tmp_path / "after").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("user", [LENT, JobUser(1000, 1000)])
def test_a_folder_that_is_gone_is_for_the_engine_to_tell(tmp_path: Path, user: JobUser) -> None:
    with lend_output(tmp_path / "gone", user):
        pass


@pytest.mark.skipif(os.getuid() == 0, reason="root may give files away")
def test_a_folder_that_cannot_be_lent_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be given to the jobs' user 61100"):
        lend_output(tmp_path, LENT).__enter__()


def test_what_is_ours_is_opened_for_reading(tmp_path: Path) -> None:
    inner = tmp_path / "graph"
    inner.mkdir()
    (inner / "file").touch()
    (inner / "link").symlink_to("/etc")
    for path in (inner / "file", inner):
        path.chmod(0o700)
    let_read(inner)
    assert inner.stat().st_mode & 0o777 == 0o755
    assert (inner / "file").stat().st_mode & 0o777 == 0o744


@pytest.mark.parametrize(("closed", "mode"), [("blobs", 0o750), ("blobs/b", 0o640)])
def test_weights_that_the_jobs_user_cannot_read_are_refused(
    tmp_path: Path, closed: str, mode: int
) -> None:
    root, snapshot = tmp_path / "model", tmp_path / "model" / "snapshot"
    (root / "blobs").mkdir(parents=True)
    (root / "blobs" / "b").touch()
    snapshot.mkdir()
    (snapshot / "model.safetensors").symlink_to("../blobs/b")
    for path in (root, root / "blobs", snapshot):
        path.chmod(0o755)
    (root / "blobs" / "b").chmod(0o644)
    require_readable(snapshot, root, LENT)
    (root / closed).chmod(mode)
    with raises_words(Unavailable, match="may not be read by the jobs' user") as caught:
        require_readable(snapshot, root, LENT)
    assert f"chmod -R o+rX {root}" in str(error_hint(caught.value))
    require_readable(snapshot, root, JobUser(1000, 1000))
