"""A release: its tag, its notes, what its images are built with, and the lock of its images."""

from pathlib import Path

import pytest

from orchestrator.images.lock import PlatformImage, PublishedImage, Release, read_lock
from orchestrator.images.source import find_source
from runner import __version__
from tools.releases import ReleaseError, check, described_build, lock, main, notes, provenance

DIGEST, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
REGISTRY = "ghcr.io/somebody"
WORKFLOW = ".github/workflows/release.yml"
CHANGES = "# Changes\n\n## Unreleased\n\n## 1.1 (2026-11-24)\n\n- new\n\n## 1.0\n\n- old\n"
RELEASE = Release(registry=REGISTRY, signer="https://github.com/somebody/x@refs/tags/v1.1")


@pytest.fixture
def changelog(tmp_path: Path) -> Path:
    file = tmp_path / "CHANGELOG.md"
    file.write_text(CHANGES)
    return file


def test_the_notes_are_the_versions_part_of_the_changelog(changelog: Path) -> None:
    assert notes(changelog, "1.1") == "## 1.1 (2026-11-24)\n\n- new\n"
    with pytest.raises(ReleaseError, match="no entry `## 2`"):
        notes(changelog, "2")


@pytest.mark.parametrize(
    ("tag", "version", "message"),
    [
        ("v1.1", "1.1", None),
        ("1.1", "1.1", "the tag is 1.1"),
        ("v1.2", "1.1", "the tag is v1.2, and runner/__init__.py says 1.1"),
        ("v1.0", "1.0", "is not `## 1.0 "),
        ("v2", "2", "no entry"),
    ],
)
def test_a_tag_is_the_versions_and_the_changelog_has_a_dated_entry(
    changelog: Path, tag: str, version: str, message: str | None
) -> None:
    if message is None:
        check(tag, changelog, version)
    else:
        with pytest.raises(ReleaseError, match=message):
            check(tag, changelog, version)


def test_a_build_has_the_labels_that_the_orchestrator_gives_its_own() -> None:
    text = described_build("cpu", REGISTRY)
    source = find_source("cpu")
    assert source
    lines = text.splitlines()
    assert lines[0] == f"repository={REGISTRY}/accelmatrix-cpu"
    assert f"org.accelmatrix.source={source.fingerprint()}" in lines
    assert f"org.opencontainers.image.version={__version__}" in lines
    assert lines.count("END") == 2
    with pytest.raises(ReleaseError, match="'gpu' is none of cpu, cuda"):
        described_build("gpu", REGISTRY)


def test_provenance_names_workflow_commit_and_run() -> None:
    said = provenance(
        {
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "somebody/accelmatrix",
            "GITHUB_WORKFLOW_REF": f"somebody/accelmatrix/{WORKFLOW}@refs/tags/v1",
            "GITHUB_REF": "refs/tags/v1",
            "GITHUB_SHA": "abc",
            "GITHUB_RUN_ID": "7",
            "GITHUB_RUN_ATTEMPT": "2",
        }
    )
    definition, details = said["buildDefinition"], said["runDetails"]
    assert definition["externalParameters"]["workflow"] == {
        "ref": "refs/tags/v1",
        "repository": "https://github.com/somebody/accelmatrix",
        "path": WORKFLOW,
    }
    (source,) = definition["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": "abc"}
    run = "https://github.com/somebody/accelmatrix/actions/runs/7/attempts/2"
    assert details["metadata"]["invocationId"] == run


def found(repository: str, digest: str) -> PublishedImage | None:
    """A registry that has every image under the one digest."""
    if digest != DIGEST:
        return None
    part = PlatformImage(manifest=DIGEST, config=OTHER, bytes=len(repository))
    return PublishedImage(digest=digest, platforms={"linux/amd64": part})


def test_published_images_are_noted_once_as_their_registry_has_them(tmp_path: Path) -> None:
    file = tmp_path / "images.lock"
    file.write_text("{}")
    lock([f"cpu={DIGEST}"], RELEASE, file, "1.1", found)
    lock([f"cpu={DIGEST}", f"qnn={DIGEST}"], RELEASE, file, "1.1", found)
    kept = read_lock(file)
    images = kept["1.1"].images
    source = find_source("cpu")
    assert source
    assert (list(images), images["cpu"].source) == (["cpu", "qnn"], source.fingerprint())
    assert kept["1.1"].signer == RELEASE.signer
    elsewhere = RELEASE.model_copy(update={"registry": "ghcr.io/other"})
    for words, release, message in (
        (f"cpu={OTHER}", RELEASE, "the registry has no such image"),
        ("cpu=latest", RELEASE, "is not NAME=sha256"),
        (f"gpu={DIGEST}", RELEASE, "'gpu' is none of"),
        (f"cpu={DIGEST}", elsewhere, "was published in ghcr.io/somebody"),
    ):
        with pytest.raises(ReleaseError, match=message):
            lock([words], release, file, "1.1", found)
    assert read_lock(file) == kept


def test_what_cannot_be_released_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "v0"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["build", "cpu", "--registry", REGISTRY]) == 0
