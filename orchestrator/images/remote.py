"""Images in a registry, by its own word and without an engine; their signatures."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.request import parse_http_list, parse_keqv_list

import requests
from docker.auth import load_config, resolve_repository_name
from docker.errors import DockerException
from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from orchestrator.images.lock import PlatformImage, PublishedImage, Sha256
from runner.contract.errors import ImageError, Unavailable

_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_MOST_BYTES = 4 << 20
"""Most bytes of a manifest; the specification lets registries refuse larger ones."""
_TIMEOUT_S = 20
_DOCKER_HUB = {"docker.io": "registry-1.docker.io"}


class _Platform(BaseModel):
    os: str
    architecture: str
    variant: str | None = None

    def __str__(self) -> str:
        return "/".join(filter(None, (self.os, self.architecture, self.variant)))


class _Blob(BaseModel):
    digest: Sha256
    size: NonNegativeInt
    platform: _Platform | None = None


class _Index(BaseModel):
    manifests: list[_Blob] = Field(max_length=100)


class _Manifest(BaseModel):
    config: _Blob
    layers: list[_Blob] = Field(max_length=1000)


@dataclass(frozen=True)
class _Answer:
    """One answer of a registry."""

    status: int
    media_type: str
    challenge: str
    """Its demand for credentials, if it refused."""
    content: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


class Registry:
    """The manifests of one repository, e.g. `ghcr.io/somebody/accelmatrix-cpu`."""

    def __init__(self, repository: str, session: requests.Session | None = None) -> None:
        self._repository = repository
        self._host, self._name = resolve_repository_name(repository)
        self._session = session or requests.Session()
        self._authorized = False

    def image(self, tag: str) -> PublishedImage | None:
        """The image with that tag or digest; None if there is none."""
        try:
            document = self._fetch(tag)
            if document is None:
                return None
            platforms = dict(self._platforms(document))
            return PublishedImage(digest=document.digest, platforms=platforms)
        except (requests.RequestException, ValidationError, DockerException) as error:
            reason = str(error).strip().splitlines()[0]
            raise ImageError(
                f"{self._repository}:{tag}: its registry cannot be asked: {reason}",
                hint="see that the registry's name is right and can be reached from here",
            ) from error

    def _platforms(self, document: _Answer) -> Iterator[tuple[str, PlatformImage]]:
        if document.media_type not in _INDEXES:
            manifest = _Manifest.model_validate_json(document.content)
            config = self._get(f"blobs/{manifest.config.digest}").content
            yield str(_Platform.model_validate_json(config)), _platform_image(document, manifest)
            return
        for entry in _Index.model_validate_json(document.content).manifests:
            if entry.platform and entry.platform.os != "unknown":  # as attestations are
                image = self._fetch(entry.digest)
                if image is None or image.digest != entry.digest:
                    name = f"{self._repository}@{entry.digest}"
                    raise ImageError(f"{name}: the registry has something else there")
                manifest = _Manifest.model_validate_json(image.content)
                yield str(entry.platform), _platform_image(image, manifest)

    def _fetch(self, reference: str) -> _Answer | None:
        answer = self._get(f"manifests/{reference}", accept=", ".join((*_INDEXES, *_MANIFESTS)))
        return None if answer.status == requests.codes.not_found else answer

    def _get(self, path: str, accept: str = "*/*") -> _Answer:
        host = _DOCKER_HUB.get(self._host, self._host)
        scheme = "http" if is_plain_http(host) else "https"
        url = f"{scheme}://{host}/v2/{self._name}/{path}"
        answer = self._ask(url, accept)
        if answer.status == requests.codes.unauthorized and not self._authorized:
            self._authorize(answer.challenge)
            answer = self._ask(url, accept)
        if answer.status not in {requests.codes.ok, requests.codes.not_found}:
            raise ImageError(
                f"{url}: the registry refuses it: status {answer.status}",
                hint="`docker login` keeps the credentials that it asks for",
            )
        return answer

    def _ask(self, url: str, accept: str) -> _Answer:
        headers = {"Accept": accept}
        with self._session.get(url, headers=headers, timeout=_TIMEOUT_S, stream=True) as answer:
            content = answer.raw.read(_MOST_BYTES + 1, decode_content=True)
            media_type = answer.headers.get("Content-Type", "").partition(";")[0]
            challenge = answer.headers.get("WWW-Authenticate", "")
        if len(content) > _MOST_BYTES:
            raise ImageError(f"{url}: the registry's answer is larger than {_MOST_BYTES:,} bytes")
        return _Answer(answer.status_code, media_type, challenge, content)

    def _authorize(self, challenge: str) -> None:
        self._authorized = True
        known: Mapping[str, Any] = load_config().resolve_authconfig(self._host) or {}
        user, password = known.get("Username"), known.get("Password")
        credentials = (user, password) if user and password else None
        scheme, _, values = challenge.partition(" ")
        if scheme.lower() == "basic":
            self._session.auth = credentials
            return
        facts = parse_keqv_list(parse_http_list(values))
        realm = facts.pop("realm", "")
        if not realm.startswith(("https://", f"http://{self._host}/")):
            raise ImageError(f"{self._host}: sends us for a token to {realm!r}, which is no https")
        scope = {"scope": f"repository:{self._name}:pull", **facts}
        answer = requests.get(realm, params=scope, auth=credentials, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        tokens = answer.json()
        token = tokens.get("token") or tokens.get("access_token")
        self._session.headers["Authorization"] = f"Bearer {token}"


def _platform_image(document: _Answer, manifest: _Manifest) -> PlatformImage:
    size = manifest.config.size + sum(layer.size for layer in manifest.layers)
    return PlatformImage(manifest=document.digest, config=manifest.config.digest, bytes=size)


def is_plain_http(registry: str) -> bool:
    """True for this machine's own registries, which docker asks without TLS."""
    host = registry.partition("/")[0]
    name = host.rpartition(":")[0] or host
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


_ISSUER = "https://token.actions.githubusercontent.com"
"""The issuer that vouches for the names of GitHub Actions' workflows."""
_PROVENANCE = "slsaprovenance1"
_COSIGN_TIMEOUT_S = 120

Checked = Literal["signature", "provenance"]


@dataclass(frozen=True)
class Signer:
    """The expected signer: a workflow by its certificate, or the owner of a key."""

    identity: str | None = None
    """The address of a workflow at its tag."""
    key: Path | None = None
    """A public key; it goes before the identity."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """A key of one's own needs no public log."""
        if self.key:
            return ("--key", str(self.key), "--insecure-ignore-tlog=true")
        identity = ("--certificate-identity", self.identity or "")
        return (*identity, "--certificate-oidc-issuer", _ISSUER)


@dataclass(frozen=True)
class SignatureCheck:
    """The answer of `cosign` on one image."""

    checked: Checked
    valid: bool
    message: str
    """Its last words if it is not valid."""


def find_cosign() -> str:
    """The path of `cosign`; Unavailable if it is not installed."""
    if path := shutil.which("cosign"):
        return path
    raise Unavailable(
        "cosign is needed to check signatures, and it is not found here",
        hint="install it from https://docs.sigstore.dev, or trust the digests alone: images are "
        "pulled by those of this release",
    )


def check_signatures(
    reference: str, signer: Signer, *, cosign: str, plain_http: bool = False
) -> list[SignatureCheck]:
    common = (*signer.arguments, *(("--allow-http-registry",) if plain_http else ()), reference)
    return [
        _check("signature", (cosign, "verify", *common)),
        _check("provenance", (cosign, "verify-attestation", "--type", _PROVENANCE, *common)),
    ]


def _check(checked: Checked, command: Sequence[str]) -> SignatureCheck:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_COSIGN_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return SignatureCheck(
            checked, valid=False, message=f"no answer within {_COSIGN_TIMEOUT_S} s"
        )
    lines = done.stderr.strip().splitlines()
    words = next((line for line in lines if line.lower().startswith("error")), "")
    message = "" if done.returncode == 0 else words or (lines[-1] if lines else "it failed")
    return SignatureCheck(checked, valid=done.returncode == 0, message=message)
