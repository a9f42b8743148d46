"""TLS certificates for one server: self-signed, made on the spot by openssl, gone with it."""

import hashlib
import ipaddress
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.contract.errors import UsageError

_DAYS = 7
_TIMEOUT_S = 30
_WITHOUT = "`--host 127.0.0.1` needs no certificate, for a browser on this machine"


@dataclass(frozen=True)
class Certificate:
    """A certificate, and what a server presents it with."""

    context: ssl.SSLContext
    fingerprint: str
    """SHA-256 of the certificate, in pairs of hexadecimal digits as browsers show it."""


@contextmanager
def new_certificate(host: str) -> Iterator[Certificate]:
    """A certificate for that address or name; its private key is removed in the end."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise UsageError(f"--host {host} needs openssl, which is not installed here", hint=_WITHOUT)
    with TemporaryDirectory(prefix="accelmatrix-") as folder:
        key, file = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        _make(openssl, host, key, file)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(file, key)
        yield Certificate(context, fingerprint_of(file.read_text("ascii")))


def fingerprint_of(certificate: str) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).digest().hex(":").upper()


def _make(openssl: str, host: str, key: Path, file: Path) -> None:
    command = [
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-sha256", "-days", str(_DAYS), "-subj", "/CN=AccelMatrix"),
        *("-addext", f"subjectAltName={_subject(host)}", "-addext", "extendedKeyUsage=serverAuth"),
        *("-keyout", str(key), "-out", str(file)),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        message = f"--host {host}: openssl makes no certificate: {lines[-1]}"
        raise UsageError(message, hint=_WITHOUT) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"--host {host}: openssl makes no certificate: {error}"
        raise UsageError(message, hint=_WITHOUT) from error


def _subject(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"
