"""Signatures and provenance of published images, checked by `cosign` where it is found."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.contract.errors import Unavailable

_ISSUER = "https://token.actions.githubusercontent.com"
"""The issuer that vouches for the names of GitHub Actions' workflows."""
_PROVENANCE = "slsaprovenance1"
_TIMEOUT_S = 120

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
        """Those of `cosign`. A key of one's own needs no public log."""
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
    """The path of `cosign`.

    Raises:
        Unavailable: it is not installed.
    """
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
    """Check signature and provenance of the image with that digest."""
    common = (*signer.arguments, *(("--allow-http-registry",) if plain_http else ()), reference)
    return [
        _check("signature", (cosign, "verify", *common)),
        _check("provenance", (cosign, "verify-attestation", "--type", _PROVENANCE, *common)),
    ]


def _check(checked: Checked, command: Sequence[str]) -> SignatureCheck:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return SignatureCheck(checked, valid=False, message=f"no answer within {_TIMEOUT_S} s")
    lines = done.stderr.strip().splitlines()
    words = next((line for line in lines if line.lower().startswith("error")), "")
    message = "" if done.returncode == 0 else words or (lines[-1] if lines else "it failed")
    return SignatureCheck(checked, valid=done.returncode == 0, message=message)
