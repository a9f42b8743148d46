"""Digests of base images and of published ones: `python -m tools.digests COMMAND`.

`check` compares `images/bases.json` with the Dockerfiles, `check --require` insists that every
digest is known, `fill` asks the registries for them, `lock NAME=DIGEST … --registry PREFIX` notes
what a release published. No digest is written that no registry said.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from orchestrator.backends.catalogue import image_names
from orchestrator.images import ImageSettings
from orchestrator.images.lock import (
    LOCK_FILE,
    RELEASES,
    PublishedImage,
    Release,
    ReleasedImage,
    read_lock,
)
from orchestrator.images.remote import Registry
from orchestrator.images.source import SourceFolders, find_source
from orchestrator.system.git import ROOT
from runner import __version__
from runner.contract.errors import ImageError
from runner.contract.files import write_atomic

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
BASES = ROOT / "images/bases.json"


class DigestError(Exception):
    """A digest is wrong, or cannot be had."""


def faults(root: Path = ROOT, *, require: bool = False) -> Iterator[str]:
    """What is wrong with the digests of base images."""
    digests = json.loads((root / "images/bases.json").read_text("utf-8"))
    bases = _bases(root)
    yield from (f"{base} is no Dockerfile's base" for base in digests if base not in bases)
    for base in sorted(bases):
        if base not in digests:
            yield f"{base} is missing"
        elif digests[base] is None:
            if require:
                yield f"{base} has no digest: `python -m tools.digests fill` asks its registry"
        elif not DIGEST.fullmatch(str(digests[base])):
            yield f"{base}: {digests[base]!r} is no digest"


def fill(root: Path = ROOT, docker: str = "docker") -> None:
    """Pull each base by its tag, and write the digest that its registry says.

    Raises:
        DigestError: a registry does not answer, or the image never came from one.
    """
    digests = {base: _digest(base, docker) for base in sorted(_bases(root))}
    write_atomic(root / "images/bases.json", json.dumps(digests, indent=2) + "\n")


def lock(
    images: Sequence[str],
    release: Release,
    file: Path = LOCK_FILE,
    version: str = __version__,
    find: Callable[[str, str], PublishedImage | None] = find_published,
) -> None:
    """Note the images, `NAME=sha256:…`, that this version published, as their registry has them.

    Args:
        images: names and digests.
        release: registry and signer; its images are left out.
        file: the lock.
        version: the version.
        find: looks at a repository for a digest.

    Raises:
        DigestError: a name or a digest is wrong, the registry has no such image, or the version has
            another one already.
        ImageError: the registry does not answer.
    """
    releases = dict(read_lock(file))
    known = releases.get(version, release)
    if (known.registry, known.signer) != (release.registry, release.signer):
        raise DigestError(f"{version} was published in {known.registry} by {known.signer} already")
    settings = ImageSettings(registry=release.registry, version=version)
    noted = dict(known.images)
    for word in images:
        name, image = _published(word, settings, find)
        if noted.setdefault(name, image) != image:
            raise DigestError(f"{name} {version} was published as {noted[name].digest} already")
    releases[version] = known.model_copy(update={"images": noted})
    write_atomic(file, RELEASES.dump_json(releases, indent=1).decode() + "\n")


def find_published(repository: str, digest: str) -> PublishedImage | None:
    """The image with that digest in a registry."""
    return Registry(repository).image(digest)


def _published(
    word: str, settings: ImageSettings, find: Callable[[str, str], PublishedImage | None]
) -> tuple[str, ReleasedImage]:
    name, _, digest = word.partition("=")
    source = settings.source(name) if name in image_names() else None
    if source is None or not DIGEST.fullmatch(digest):
        raise DigestError(f"{word!r} is not NAME=sha256:… with one of {', '.join(image_names())}")
    image = find(settings.repository(name), digest)
    if image is None:
        raise DigestError(f"{settings.repository(name)}@{digest}: the registry has no such image")
    return name, ReleasedImage(**image.model_dump(), source=source.fingerprint())


def _bases(root: Path) -> set[str]:
    folders = (path.parent.name for path in (root / "images").glob("*/Dockerfile"))
    sources = (find_source(name, SourceFolders.of(root)) for name in folders)
    return {base for source in sources if source and (base := source.base_image())}


def _digest(base: str, docker: str) -> str:
    """The digest that a registry gave this tag; an image that was made here has none."""
    for command in (["pull", "--quiet", base], ["image", "inspect", base]):
        done = subprocess.run([docker, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise DigestError(f"{base}: {done.stderr.strip()}")
    (image,) = json.loads(done.stdout)
    for name in image["RepoDigests"] or ():
        digest = str(name).rpartition("@")[2]
        if DIGEST.fullmatch(digest):
            return digest
    raise DigestError(f"{base}: no registry has told a digest of it")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, fill or note digests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="compare bases.json with the Dockerfiles")
    check.add_argument("--require", action="store_true", help="insist that each digest is known")
    commands.add_parser("fill", help="ask the registries for the digests of base images")
    noted = commands.add_parser("lock", help="note the digests of published images")
    noted.add_argument("images", nargs="+", metavar="NAME=DIGEST")
    noted.add_argument("--registry", required=True, help="what stands before their names")
    noted.add_argument("--signer", help="the workflow whose certificate signed them")
    options = parser.parse_args(arguments)
    messages = []
    try:
        if options.command == "fill":
            fill()
        elif options.command == "lock":
            lock(options.images, Release(registry=options.registry, signer=options.signer))
        else:
            messages = [f"{BASES.name}: {fault}" for fault in faults(require=options.require)]
    except (DigestError, ImageError) as error:
        messages = [str(error)]
    sys.stderr.writelines(f"{message}\n" for message in messages)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
