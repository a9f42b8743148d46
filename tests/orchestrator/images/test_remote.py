"""Images in a registry: digests, platforms and sizes by its own word; signatures."""

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from orchestrator.images.remote import (
    Registry,
    Signer,
    check_signatures,
    find_cosign,
    is_plain_http,
)
from runner.contract.errors import ImageError, Unavailable
from tests.support.words import raises_words

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "sha256:" + "c" * 64
LAYER = {"digest": "sha256:" + "d" * 64, "size": 100}


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def manifest(size: int) -> bytes:
    config = {"digest": CONFIG, "size": size}
    return json.dumps({"config": config, "layers": [LAYER, LAYER]}).encode()


AMD, ARM = manifest(1), manifest(2)
ATTESTATION = {
    "digest": CONFIG,
    "size": 1,
    "platform": {"os": "unknown", "architecture": "unknown"},
}


def index_of(*images: tuple[str, bytes]) -> bytes:
    entries = [
        {
            "digest": digest_of(content),
            "size": len(content),
            "platform": {"os": "linux", "architecture": architecture},
        }
        for architecture, content in images
    ]
    return json.dumps({"manifests": [*entries, ATTESTATION]}).encode()


BOTH = index_of(("amd64", AMD), ("arm64", ARM))


@dataclass
class FakeRegistry:
    """Answers on loopback with what was put in; wants a token if it is told to."""

    answers: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    token: str = ""
    realm: str = ""
    address: str = ""

    def put(self, path: str, media_type: str, content: bytes) -> None:
        self.answers[f"/v2/me/cpu/{path}"] = media_type, content

    def put_image(self) -> None:
        self.put("manifests/1.0", INDEX, BOTH)
        for part in (AMD, ARM):
            self.put(f"manifests/{digest_of(part)}", MANIFEST, part)

    def ask(self, tag: str = "1.0") -> object:
        return Registry(f"{self.address}/me/cpu").image(tag)


@pytest.fixture
def fake(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FakeRegistry]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path_factory.mktemp("docker")))
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/token":
                self.send(200, "application/json", json.dumps({"token": registry.token}).encode())
            elif registry.token and self.headers["Authorization"] != f"Bearer {registry.token}":
                self.send(401, "text/plain", b"")
            elif path in registry.answers:
                self.send(200, *registry.answers[path])
            else:
                self.send(404, "text/plain", b"")

        def send(self, status: int, media_type: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            realm = registry.realm or f"http://{registry.address}/token"
            self.send_header("WWW-Authenticate", f'Bearer realm="{realm}",service="s"')
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("token", ["", "secret"])
def test_an_image_of_several_platforms_has_a_size_for_each(fake: FakeRegistry, token: str) -> None:
    fake.token = token
    fake.put_image()
    image = Registry(f"{fake.address}/me/cpu").image("1.0")
    assert image
    assert image.digest == digest_of(BOTH)
    assert {name: part.bytes for name, part in image.platforms.items()} == {
        "linux/amd64": 201,
        "linux/arm64": 202,
    }
    assert image.digests == {image.digest, digest_of(AMD), digest_of(ARM), CONFIG}
    assert fake.ask("2.0") is None


def test_a_part_that_is_something_else_is_refused(fake: FakeRegistry) -> None:
    fake.put_image()
    fake.put(f"manifests/{digest_of(AMD)}", MANIFEST, ARM)
    with raises_words(ImageError, match="the registry has something else there"):
        fake.ask()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "cannot be asked"),
        (b'{"manifests": [{"digest": "sha256:1", "size": 1}]}', "cannot be asked"),
        (b'{"manifests": 7}', "cannot be asked"),
        (b"0" * ((4 << 20) + 1), "larger than 4,194,304 bytes"),
    ],
)
def test_an_answer_that_is_no_manifest_is_one_error(
    fake: FakeRegistry, content: bytes, message: str
) -> None:
    fake.put("manifests/1.0", INDEX, content)
    with raises_words(ImageError, match=message):
        fake.ask()


def test_a_token_is_fetched_over_https_or_from_the_registry_itself(fake: FakeRegistry) -> None:
    fake.token, fake.realm = "secret", "http://evil.example/token"
    with raises_words(ImageError, match="which is no https"):
        fake.ask()


def test_a_registry_that_does_not_answer_is_one_error() -> None:
    with raises_words(ImageError, match=r"127\.0\.0\.1:1/me/cpu:1: its registry cannot be asked"):
        Registry("127.0.0.1:1/me/cpu").image("1")


@pytest.mark.parametrize(
    ("registry", "plain"),
    [
        ("localhost:5000/x", True),
        ("127.1.2.3/x", True),
        ("ghcr.io/x", False),
        ("localhost.example/x", False),
    ],
)
def test_only_this_machines_registries_are_asked_without_tls(registry: str, plain: bool) -> None:
    assert is_plain_http(registry) is plain


REFERENCE = "ghcr.io/me/accelmatrix-cpu@sha256:" + "1" * 64


def fake_cosign(folder: Path, failing: str = "") -> str:
    """A stand-in that notes its arguments, and refuses one command."""
    program = folder / "cosign"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"print(json.dumps(sys.argv[1:]), file=open({str(folder / 'calls')!r}, 'a'))\n"
        f"if sys.argv[1] == {failing!r}:\n"
        "    print('Error: no matching signatures\\nmain.go:1', file=sys.stderr); sys.exit(1)\n"
    )
    program.chmod(0o755)
    return str(program)


def calls(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


def test_a_workflows_certificate_is_asked_for_signature_and_provenance(tmp_path: Path) -> None:
    signer = Signer("https://github.com/me/x/.github/workflows/build-images.yml@refs/tags/v1")
    checks = check_signatures(REFERENCE, signer, cosign=fake_cosign(tmp_path))
    assert [(check.checked, check.valid) for check in checks] == [
        ("signature", True),
        ("provenance", True),
    ]
    verify, attested = calls(tmp_path)
    assert verify == [
        "verify",
        *("--certificate-identity", signer.identity),
        *("--certificate-oidc-issuer", "https://token.actions.githubusercontent.com"),
        REFERENCE,
    ]
    assert attested[:3] == ["verify-attestation", "--type", "slsaprovenance1"]
    assert attested[3:] == verify[1:]


def test_a_key_goes_before_the_workflow(tmp_path: Path) -> None:
    signer = Signer("somebody", Path("key.pub"))
    check_signatures(REFERENCE, signer, cosign=fake_cosign(tmp_path), plain_http=True)
    key = ["--key", "key.pub", "--insecure-ignore-tlog=true", "--allow-http-registry", REFERENCE]
    assert calls(tmp_path)[0] == ["verify", *key]


@pytest.mark.parametrize("failing", ["verify", "verify-attestation"])
def test_what_is_not_valid_is_said_in_cosigns_words(tmp_path: Path, failing: str) -> None:
    checks = check_signatures(REFERENCE, Signer("x"), cosign=fake_cosign(tmp_path, failing))
    (invalid,) = [check for check in checks if not check.valid]
    assert invalid.message == "Error: no matching signatures"


def test_without_cosign_nothing_is_called_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with raises_words(Unavailable, match="cosign is needed"):
        find_cosign()
