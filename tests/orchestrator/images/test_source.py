"""The files that an image is built from, and their fingerprint."""

import tarfile
from pathlib import Path

import pytest

from orchestrator.images.source import OUR_FOLDERS, ImageSource, SourceFolders, find_source
from orchestrator.system.git import ROOT
from tests.orchestrator.images.conftest import tiny_checkout

FILES = (
    "images/cpu/Dockerfile",
    "images/cpu/requirements.txt",
    "images/install.py",
    "images/setup.sh",
    "runner/__init__.py",
)
FOREIGN = "runner/__pycache__/x.pyc runner/.hidden images/.hidden orchestrator/x.py images/cuda/x"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return tiny_checkout(tmp_path)


def source_of(checkout: Path) -> ImageSource:
    source = find_source("cpu", SourceFolders.of(checkout))
    assert source is not None
    return source


def test_an_image_is_made_of_its_folder_the_shared_scripts_and_the_runner(checkout: Path) -> None:
    assert [*source_of(checkout).files] == [*FILES]


@pytest.mark.parametrize("path", [*FILES, "runner/new.py"])
def test_every_change_changes_the_fingerprint(checkout: Path, path: str) -> None:
    before = source_of(checkout).fingerprint()
    (checkout / path).write_text("changed")
    assert source_of(checkout).fingerprint() != before


@pytest.mark.parametrize("path", FOREIGN.split())
def test_other_files_do_not_count(checkout: Path, path: str) -> None:
    before = source_of(checkout).fingerprint()
    (checkout / path).parent.mkdir(parents=True, exist_ok=True)
    (checkout / path).write_text("x")
    assert source_of(checkout).fingerprint() == before


def test_the_context_holds_these_files_and_is_reproducible(checkout: Path) -> None:
    source = source_of(checkout)
    with tarfile.open(fileobj=source.context()) as archive:
        assert archive.getnames() == [*source.files]
    first = source.context().getvalue()
    (checkout / "runner/__init__.py").touch()
    assert source.context().getvalue() == first


def test_a_sites_hashes_are_part_of_what_an_image_is_made_of(checkout: Path) -> None:
    plain, site = (
        source_of(checkout),
        find_source("cpu", SourceFolders.of(checkout), b"torch==1 --hash=sha256:0"),
    )
    assert site
    assert plain.fingerprint() != site.fingerprint()
    with tarfile.open(fileobj=site.context()) as archive:
        file = archive.extractfile("images/cpu/requirements.site.txt")
        assert file
        assert file.read() == site.site_hashes
    # One that lies in the checkout is nobody's word.
    (checkout / "images/cpu/requirements.site.txt").write_text("x")
    assert source_of(checkout).files == plain.files


@pytest.mark.parametrize(
    ("text", "site", "hashes"),
    [
        ("", b"", "published"),
        ("# unhashed: a==1+x\n# unhashed: b==2\n", b"", "published, none for a==1+x, b==2"),
        ("# unhashed: a==1+x\n", b"a==1+x --hash=sha256:0", "site"),
    ],
)
def test_an_image_says_what_its_packages_are_held_to(
    checkout: Path, text: str, site: bytes, hashes: str
) -> None:
    (checkout / "images/cpu/requirements.hashes.txt").write_text(text)
    source = find_source("cpu", SourceFolders.of(checkout), site)
    assert source
    assert source.hashes() == hashes


def test_a_base_is_named_by_its_digest_where_that_is_known(checkout: Path) -> None:
    bases, digest = checkout / "images/bases.json", "sha256:" + "0" * 64
    (checkout / "images/cpu/Dockerfile").write_text("ARG BASE_IMAGE=python:3\n")
    assert source_of(checkout).pinned_base() is None
    bases.write_text('{"python:3": null}')
    assert source_of(checkout).pinned_base() is None
    before = source_of(checkout).fingerprint()
    bases.write_text(f'{{"python:3": "{digest}"}}')
    assert source_of(checkout).pinned_base() == f"python:3@{digest}"
    assert source_of(checkout).fingerprint() != before


def test_the_installed_files_make_the_same_image_as_the_checkouts() -> None:
    installed = find_source("cpu", OUR_FOLDERS)
    assert installed
    assert installed.fingerprint() == source_of(ROOT).fingerprint()
