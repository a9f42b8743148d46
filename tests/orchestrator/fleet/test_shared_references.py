"""References between hosts: kept if they are whole, sent if a cell needs them."""

from pathlib import Path

import numpy
import pytest

from orchestrator.fleet.messages import Shared
from orchestrator.fleet.shared_references import SENT_BYTES, keep_reference, known_references
from orchestrator.running.artifacts.cache import versions_of
from runner.contract.artifact_keys import REFERENCES, reference_key
from runner.contract.models import catalogue
from tests.support.jobs import fake_cell
from tests.support.runs import WEIGHTS_SEED, a_plan, a_run_folder


def a_reference(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    numpy.savez(path, logits=numpy.ones(3))
    return path.read_bytes()


def test_a_reference_that_a_host_made_is_kept_and_sent_to_the_next(tmp_path: Path) -> None:
    model = catalogue()["bert-tiny"]
    changes = {"model": "bert-tiny", "backend": "cpu", "runtime": "torch"}
    cell = fake_cell(1).model_copy(update=changes)
    run = a_run_folder(tmp_path / "results", a_plan([cell], model=model)).run
    versions = versions_of(REFERENCES, in_images=False)
    name = f"{reference_key(model, 'forward', WEIGHTS_SEED, versions)}.npz"
    content = a_reference(tmp_path / "host" / name)
    shared = Shared(folder="references", path=(name,))
    assert list(known_references(tmp_path / "results", run, [cell])) == []
    keep_reference(tmp_path / "results", shared, content)
    assert list(known_references(tmp_path / "results", run, [cell])) == [(shared, content)]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (("a.npz",), b"no archive"),
        (("a.npz",), b"PK\3\4" + bytes(SENT_BYTES)),
        (("a.txt",), None),
        (("deeper", "a.npz"), None),
    ],
)
def test_what_is_no_reference_is_dropped(
    tmp_path: Path, path: tuple[str, ...], content: bytes | None
) -> None:
    sent = content or a_reference(tmp_path / "host" / "a.npz")
    message = Shared(folder="references", path=path)
    (tmp_path / "results").mkdir()
    keep_reference(tmp_path / "results", message, sent)
    assert not list((tmp_path / "results").rglob("a.*"))


def test_one_that_is_here_already_stays(tmp_path: Path) -> None:
    here = a_reference(tmp_path / "references" / "a.npz")
    numpy.savez(tmp_path / "other.npz", logits=numpy.zeros(3))
    shared = Shared(folder="references", path=("a.npz",))
    keep_reference(tmp_path, shared, (tmp_path / "other.npz").read_bytes())
    assert (tmp_path / "references" / "a.npz").read_bytes() == here
