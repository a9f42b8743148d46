"""Signatures: what cosign is asked, and what its answers mean."""

import json
import sys
from pathlib import Path

import pytest

from orchestrator.images.remote import Signer, check_signatures, find_cosign
from runner.contract.errors import Unavailable
from tests.support.words import raises_words

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
