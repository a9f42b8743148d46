"""A release: `python -m tools.releases COMMAND`, as `.github/workflows/release.yml` calls it.

`check TAG` compares the tag with the version and the changelog, `notes` prints the version's part
of the changelog, `build NAME --registry PREFIX` prints what a build of an image takes, `provenance`
says what a workflow built from, `lock NAME=DIGEST … --registry PREFIX` notes published images.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.backends.catalogue import image_names
from orchestrator.images.build import build_arguments, image_labels
from orchestrator.images.lock import (
    DIGEST,
    LOCK_FILE,
    RELEASES,
    PublishedImage,
    Release,
    ReleasedImage,
    read_lock,
)
from orchestrator.images.remote import Registry
from orchestrator.images.settings import ImageSettings
from orchestrator.images.source import ImageSource
from orchestrator.system.git import ROOT, git_commit
from runner import __version__
from runner.contract.errors import BenchError
from runner.contract.files import write_atomic

CHANGELOG = ROOT / "CHANGELOG.md"
_BUILD_TYPE = "https://actions.github.io/buildtypes/workflow/v1"
FindPublished = Callable[[str, str], PublishedImage | None]
"""Looks at a repository for a digest."""


class ReleaseError(Exception):
    """A release cannot be made of this."""


def check(tag: str, changelog: Path = CHANGELOG, version: str = __version__) -> None:
    """Insist that the tag is the version's, and that the changelog has a dated entry of it.

    Raises:
        ReleaseError: one of them is not so.
    """
    if tag != f"v{version}":
        raise ReleaseError(f"the tag is {tag}, and runner/__init__.py says {version}")
    heading = notes(changelog, version).splitlines()[0]
    if not re.fullmatch(r"## \S+ \(\d{4}-\d{2}-\d{2}\)", heading):
        raise ReleaseError(f"{changelog.name}: {heading!r} is not `## {version} (YYYY-MM-DD)`")


def notes(changelog: Path = CHANGELOG, version: str = __version__) -> str:
    """The version's part of the changelog, heading included.

    Raises:
        ReleaseError: it has none.
    """
    parts = re.split(r"^(?=## )", changelog.read_text("utf-8"), flags=re.MULTILINE)
    for part in parts:
        if part.startswith((f"## {version} ", f"## {version}\n")):
            return part.rstrip() + "\n"
    raise ReleaseError(f"{changelog.name}: there is no entry `## {version}`")


def described_build(name: str, registry: str) -> str:
    """Labels and arguments of an image's build, as outputs of a step of GitHub Actions.

    Raises:
        ReleaseError: there is no such image.
    """
    settings = ImageSettings(registry=registry, revision=git_commit())
    source = _source(settings, name)
    values = {
        "labels": image_labels(settings, name, source),
        "arguments": build_arguments(settings, name, source),
    }
    lines = [f"repository={settings.repository(name)}"]
    for key, facts in values.items():
        lines += [f"{key}<<END", *(f"{left}={right}" for left, right in facts.items()), "END"]
    return "\n".join(lines) + "\n"


def provenance(ours: Mapping[str, str]) -> dict[str, Any]:
    """What a job of GitHub Actions was built from: a predicate of SLSA's provenance, version 1.

    The certificate of the signature tells the workflow as well; who trusts neither builds the image
    himself. `SOURCE_REF` names what was checked out if it was not the workflow's own commit.
    """
    source, commit = ours["GITHUB_REF"], ours["GITHUB_SHA"]
    if ours.get("SOURCE_REF"):
        source, commit = ours["SOURCE_REF"], (git_commit() or "").removesuffix("-dirty")
    server, repository = ours["GITHUB_SERVER_URL"], ours["GITHUB_REPOSITORY"]
    workflow = ours["GITHUB_WORKFLOW_REF"]
    run = f"{server}/{repository}/actions/runs/{ours['GITHUB_RUN_ID']}"
    path, _, reference = workflow.removeprefix(f"{repository}/").partition("@")
    return {
        "buildDefinition": {
            "buildType": _BUILD_TYPE,
            "externalParameters": {
                "workflow": {"ref": reference, "repository": f"{server}/{repository}", "path": path}
            },
            "resolvedDependencies": [
                {"uri": f"git+{server}/{repository}@{source}", "digest": {"gitCommit": commit}}
            ],
        },
        "runDetails": {
            "builder": {"id": f"{server}/{workflow}"},
            "metadata": {"invocationId": f"{run}/attempts/{ours['GITHUB_RUN_ATTEMPT']}"},
        },
    }


def find_published(repository: str, digest: str) -> PublishedImage | None:
    """The image with that digest in a registry."""
    return Registry(repository).image(digest)


def lock(
    images: Sequence[str],
    release: Release,
    file: Path = LOCK_FILE,
    version: str = __version__,
    find: FindPublished = find_published,
) -> None:
    """Note the images, `NAME=sha256:…`, that this version published, as their registry has them.

    Args:
        images: names and digests.
        release: registry and signer, without images.
        file: the lock.
        version: the version.
        find: looks for an image.

    Raises:
        ReleaseError: a name or a digest is wrong, the registry has no such image, or the version
            has another one already.
        ImageError: the registry does not answer.
    """
    releases = dict(read_lock(file))
    known = releases.get(version, release)
    if (known.registry, known.signer) != (release.registry, release.signer):
        raise ReleaseError(f"{version} was published in {known.registry} by {known.signer} already")
    settings = ImageSettings(registry=release.registry, version=version)
    noted = dict(known.images)
    for word in images:
        name, image = _published(word, settings, find)
        if noted.setdefault(name, image) != image:
            raise ReleaseError(f"{name} {version} was published as {noted[name].digest} already")
    releases[version] = known.model_copy(update={"images": noted})
    write_atomic(file, RELEASES.dump_json(releases, indent=1).decode() + "\n")


def _published(
    word: str, settings: ImageSettings, find: FindPublished
) -> tuple[str, ReleasedImage]:
    name, _, digest = word.partition("=")
    source = _source(settings, name)
    if not DIGEST.fullmatch(digest):
        raise ReleaseError(f"{word!r} is not NAME=sha256:…")
    image = find(settings.repository(name), digest)
    if image is None:
        raise ReleaseError(f"{settings.repository(name)}@{digest}: the registry has no such image")
    return name, ReleasedImage(**image.model_dump(), source=source.fingerprint())


def _source(settings: ImageSettings, name: str) -> ImageSource:
    source = settings.source(name) if name in image_names() else None
    if source is None:
        raise ReleaseError(f"{name!r} is none of {', '.join(image_names())}")
    return source


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="compare a tag with version and changelog")
    checked.add_argument("tag")
    commands.add_parser("notes", help="print the version's part of the changelog")
    commands.add_parser("provenance", help="print what this workflow builds from, as JSON")
    built = commands.add_parser("build", help="print labels and arguments of an image's build")
    built.add_argument("name")
    built.add_argument("--registry", required=True, help="what stands before its name")
    noted = commands.add_parser("lock", help="note published images")
    noted.add_argument("images", nargs="+", metavar="NAME=DIGEST")
    noted.add_argument("--registry", required=True, help="what stands before their names")
    noted.add_argument("--signer", help="the workflow whose certificate signed them")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one step of a release."""
    options = _parser().parse_args(arguments)
    try:
        match options.command:
            case "check":
                check(options.tag)
            case "notes":
                sys.stdout.write(notes())
            case "provenance":
                sys.stdout.write(json.dumps(provenance(os.environ), indent=1) + "\n")
            case "build":
                sys.stdout.write(described_build(options.name, options.registry))
            case _:
                lock(options.images, Release(registry=options.registry, signer=options.signer))
    except (ReleaseError, BenchError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
