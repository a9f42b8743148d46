"""A release's images on a registry on loopback: noted by digest, and signed by real cosign."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests
import yaml

from orchestrator.images.lock import Release, read_lock
from runner import __version__
from tests.support.checkout import copied_checkout
from tests.support.command_line import call
from tools.releases import ReleaseError, lock, provenance

pytestmark = pytest.mark.slow

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "somebody/accelmatrix",
    "GITHUB_WORKFLOW_REF": "somebody/accelmatrix/.github/workflows/release.yml@refs/tags/v1",
    "GITHUB_REF": "refs/tags/v1",
    "GITHUB_SHA": "abc",
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "1",
}

BUILDER = "https://github.com/somebody/accelmatrix/.github/workflows/build-images.yml"


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def push(registry: str, name: str, content: bytes) -> str:
    """Push an image of one layer under the version's tag; returns its digest."""
    host, _, folder = registry.partition("/")
    repository = f"http://{host}/v2/{folder}/accelmatrix-{name}"
    config = json.dumps({"os": "linux", "architecture": "amd64"}).encode()
    for blob in (config, content):
        upload = requests.post(f"{repository}/blobs/uploads/", timeout=10).headers["Location"]
        done = requests.put(upload, params={"digest": digest_of(blob)}, data=blob, timeout=10)
        assert done.status_code == 201, done.text
    parts = [
        {"mediaType": media_type, "digest": digest_of(blob), "size": len(blob)}
        for media_type, blob in (
            ("application/vnd.oci.image.config.v1+json", config),
            (LAYER, content),
        )
    ]
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}
    manifest = json.dumps(document).encode()
    done = requests.put(
        f"{repository}/manifests/{__version__}",
        data=manifest,
        headers={"Content-Type": MANIFEST},
        timeout=10,
    )
    assert done.status_code == 201, done.text
    return digest_of(manifest)


def test_a_release_notes_what_the_registry_has_and_nothing_else(
    tmp_path: Path, registry: str
) -> None:
    file = tmp_path / "images.lock"
    file.write_text("{}")
    release = Release(registry=registry, signer="https://github.com/somebody/x@refs/tags/v1")
    digests = {name: push(registry, name, name.encode()) for name in ("cpu", "openvino")}
    lock([f"{name}={digest}" for name, digest in digests.items()], release, file)
    images = read_lock(file)[__version__].images
    assert {name: image.digest for name, image in images.items()} == digests
    assert all(list(image.platforms) == ["linux/amd64"] for image in images.values())
    noted = file.read_bytes()
    tampered = push(registry, "cpu", b"another layer")
    for digest, message in (
        (tampered, f"was published as {digests['cpu']} already"),
        ("sha256:" + "0" * 64, "the registry has no such image"),
    ):
        with pytest.raises(ReleaseError, match=message):
            lock([f"cpu={digest}"], release, file)
    assert file.read_bytes() == noted


STEPS = {
    "release.yml": "Note the images beside those of earlier releases",
    "images.yml": "Note the new images in the place of the release's",
}


@pytest.mark.parametrize("workflow", STEPS)
def test_the_step_of_a_workflow_notes_the_images_that_were_pushed(
    tmp_path: Path, registry: str, workflow: str
) -> None:
    checkout = copied_checkout(tmp_path / "checkout")
    jobs = yaml.safe_load((checkout / ".github/workflows" / workflow).read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job.get("steps", ())]
    (script,) = [step["run"] for step in steps if step.get("name") == STEPS[workflow]]
    script = script.replace("ghcr.io/${GITHUB_REPOSITORY_OWNER,,}", registry)
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").write_text(f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    (checkout / ".venv/bin/gh").write_text("#!/bin/bash\nexit 1\n")
    for program in (checkout / ".venv/bin").iterdir():
        program.chmod(0o755)
    pushed = push(registry, "browser", workflow.encode())
    (checkout / "digests").mkdir()
    environment = {**os.environ, **GITHUB, "PYTHONPATH": str(checkout)}
    environment["PATH"] = f"{checkout / '.venv/bin'}:{environment['PATH']}"
    lock_file = checkout / "orchestrator/images/images.lock"
    before = lock_file.read_bytes()
    for digest, noted in (("sha256:" + "0" * 64, {}), (pushed, {"browser": pushed})):
        (checkout / "digests/browser").write_text(f"browser={digest}\n")
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=checkout,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert (done.returncode == 0) == bool(noted), done.stderr
        release = read_lock(lock_file).get(__version__)
        images = release.images if release else {}
        assert {name: image.digest for name, image in images.items()} == noted
        assert noted or json.loads(lock_file.read_text()) == json.loads(before)
    assert release
    assert release.signer == f"{BUILDER}@{GITHUB['GITHUB_REF']}"


def cosign(folder: Path, *words: str) -> None:
    if shutil.which("cosign") is None:
        pytest.skip("cosign is not installed (Debian package cosign, from Debian 13 on)")
    environment = {**os.environ, "COSIGN_PASSWORD": ""}
    done = subprocess.run(
        ["cosign", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_signature_and_provenance_are_checked_by_real_cosign(tmp_path: Path, registry: str) -> None:
    for owner in ("ours", "other"):
        cosign(tmp_path, "generate-key-pair", "--output-key-prefix", owner)
    (tmp_path / "provenance.json").write_text(json.dumps(provenance(GITHUB)))
    reference = f"{registry}/accelmatrix-qnn@{push(registry, 'qnn', b'signed')}"
    common = ("--yes", "--key", "ours.key", "--tlog-upload=false", "--allow-http-registry")

    def verified(key: str) -> tuple[int, dict[str, bool]]:
        words = ("images", "verify", "qnn", "--registry", registry, "--key", key, "--json")
        done = call(*words, folder=tmp_path, environment=os.environ)
        (image,) = json.loads(done.stdout)
        return done.returncode, {check["checked"]: check["valid"] for check in image["checks"]}

    cosign(tmp_path, "sign", *common, reference)
    predicate = ("--type", "slsaprovenance1", "--predicate", "provenance.json")
    cosign(tmp_path, "attest", *common, *predicate, reference)
    assert verified("ours.pub") == (0, {"signature": True, "provenance": True})
    assert verified("other.pub") == (5, {"signature": False, "provenance": False})
    push(registry, "qnn", b"another image under the same tag")
    assert verified("ours.pub") == (5, {"signature": False, "provenance": False})
