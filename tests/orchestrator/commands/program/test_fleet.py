"""Commands on a Ray cluster where Ray is not installed, or nothing answers as named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.fleet.transports.ray import require_token
from runner.contract.errors import Unavailable
from tests.conftest import ROOT
from tests.support.command_line import call
from tests.support.ports import free_port


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    return {"ACCELMATRIX_STATE": str(tmp_path / "state")}


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.fleet.transports.ray.find_spec", lambda name: None)


@pytest.fixture
def with_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before Ray is needed, also where it is not installed."""
    monkeypatch.setattr("orchestrator.fleet.transports.ray.find_spec", lambda name: name)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "matrix.yaml"),
        ("fleet", "doctor"),
    ],
    ids=" ".join,
)
def test_every_command_on_hosts_takes_the_address_of_a_cluster(
    words: tuple[str, ...], tmp_path: Path, environment: Mapping[str, str], without_ray: None
) -> None:
    (tmp_path / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text("utf-8"))
    done = call(*words, "--address", "192.0.2.7:6379", folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "a fleet on Ray needs Ray, which is not installed here" in done.stderr
    assert "accelmatrix[fleet]" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("status",), "no fleet is named"),
        (("statsu",), "did you mean `orchestrator fleet status`?"),
        (("status", "--address", "nowhere"), "'nowhere' is no address of a head"),
        (("status", "--address", "127.0.0.1:{free}"), "no head answers at 127.0.0.1"),
    ],
)
def test_a_cluster_that_is_not_there_is_refused_at_once(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    environment: Mapping[str, str],
    with_ray: None,
) -> None:
    words = tuple(word.format(free=free_port()) for word in words)
    done = call("fleet", *words, folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0o600, "cannot be read: No such file"),
        (b"short\n", 0o600, "holds no token of at least 16 letters"),
        (b"0123456789abcdef\n", 0o640, r"can be read by others \(mode 640\)"),
    ],
)
def test_a_file_without_a_secret_token_is_refused(
    tmp_path: Path, content: bytes | None, mode: int, message: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(Unavailable, match=message) as refused:
        require_token(file)
    assert refused.value.hint
