"""Names change with whatever decides what lies under them, our own code included."""

from functools import partial
from importlib.metadata import version
from pathlib import Path

import grimp
import pytest

from runner import __version__
from runner.contract.artifact_keys import (
    GRAPHS,
    PACKAGE,
    REFERENCES,
    RUNNER,
    Maker,
    check_key,
    files,
    fingerprint,
    graph_key,
    is_made_by,
    reference_key,
)
from runner.contract.errors import BenchError
from runner.contract.models import find

BERT = find("bert-tiny")
MADE_BY = {"torch": "2.13.0", "onnx": "1.23.2", RUNNER: "0a1b2c3d"}

IDLE = {
    "runner.backends",
    "runner.backends.base",
    "runner.backends.evidence",
    "runner.contract.axes",
    "runner.contract.cell",
    "runner.contract.support",
    "runner.contract.job",
    "runner.contract.errors",
    "runner.contract.files",
    "runner.contract.rounds",
    "runner.contract.artifact_keys",
    "runner.process.streams",
}
IDLE_PACKAGES = ("runner.measure", "runner.contract.record")
"""What makers import and what changes nothing in what they make: how jobs and records look, how
errors are told, how files appear."""
OF_REFERENCES_ALONE = {
    "runner.correctness.compare_outputs",
    "runner.backends.graphs.outputs",
    "runner.backends.torch.int8",
    "runner.backends.torch.training",
    "runner.backends.torch.evidence",
    "runner.contract.graph",
}
"""The same for references: they are fp32, nobody trains, watches or compares while they are made,
and no graph is theirs."""


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join((RUNNER, *parts)).removesuffix(".__init__")


def imported(*starts: str) -> set[str]:
    """These modules and all that they import, directly or not."""
    graph = grimp.build_graph(RUNNER, cache_dir=None)
    return set(starts).union(*(graph.find_upstream_modules(start) for start in starts)) - {RUNNER}


@pytest.mark.parametrize(
    ("maker", "starts", "idle"),
    [
        (
            GRAPHS,
            ("runner.export.graphs", "runner.export.forward", "runner.export.generation"),
            IDLE,
        ),
        (
            REFERENCES,
            ("runner.correctness.reference", "runner.backends.torch.backend"),
            IDLE | OF_REFERENCES_ALONE,
        ),
    ],
    ids=["graphs", "references"],
)
def test_no_file_that_decides_is_forgotten(
    maker: Maker, starts: tuple[str, ...], idle: set[str]
) -> None:
    named = {module_of(path) for path in files(maker.sources)}
    unnamed = imported(*starts) - named - idle
    assert {name for name in unnamed if not name.startswith(IDLE_PACKAGES)} == set()
    assert all(list(PACKAGE.glob(pattern)) for pattern in maker.sources)


def test_a_key_tells_what_was_made_by_what() -> None:
    key = graph_key(BERT, "forward", "fp32", 0, MADE_BY)
    assert key.startswith("bert-tiny-forward-fp32-onnx1.23.2-runner0a1b2c3d-torch2.13.0-")
    assert key == graph_key(BERT, "forward", "fp32", 0, dict(reversed(MADE_BY.items())))


def test_whatever_changes_the_graph_changes_its_key() -> None:
    keys = {
        graph_key(BERT, "forward", "fp32", 0, MADE_BY),
        graph_key(BERT, "generation", "fp32", 0, MADE_BY),
        graph_key(BERT, "forward", "int8_dynamic", 0, MADE_BY),
        graph_key(BERT, "forward", "fp32", 1, MADE_BY),
        graph_key(BERT, "forward", "fp32", 0, {**MADE_BY, "torch": "2.14.0"}),
        graph_key(BERT, "forward", "fp32", 0, {**MADE_BY, RUNNER: "0a1b2c3e"}),
        graph_key(find("gpt2"), "forward", "fp32", 0, MADE_BY),
        graph_key(BERT.model_copy(update={"forward": {"x": True}}), "forward", "fp32", 0, MADE_BY),
    }
    assert len(keys) == 8


def test_whatever_changes_the_reference_changes_its_key() -> None:
    keys = {
        reference_key(BERT, "forward", 0, MADE_BY),
        reference_key(BERT, "generation", 0, MADE_BY),
        reference_key(BERT, "forward", 1, MADE_BY),
        reference_key(BERT, "forward", 0, {**MADE_BY, "torch": "2.14.0"}),
        reference_key(BERT, "forward", 0, {**MADE_BY, RUNNER: "0a1b2c3e"}),
        reference_key(BERT.model_copy(update={"revision": "sha256:0"}), "forward", 0, MADE_BY),
    }
    assert len(keys) == 6


def test_a_name_tells_whether_these_made_it() -> None:
    others = {**MADE_BY, "torch": "2.13.01"}
    for key in (
        graph_key(BERT, "forward", "fp32", 0, MADE_BY),
        reference_key(find("gpt2"), "generation", 7, MADE_BY),
    ):
        assert is_made_by(key, MADE_BY)
        assert not is_made_by(key, others)
        assert not is_made_by(f"{key}-b1", MADE_BY)


def test_a_fingerprint_is_of_names_and_contents(tmp_path: Path) -> None:
    def fingerprint_of(folder: str, **texts: str) -> str:
        package = tmp_path / folder
        (package / "export").mkdir(parents=True)
        for name, text in texts.items():
            (package / "export" / f"{name}.py").write_text(text)
        (package / "other.py").write_text(folder)
        return fingerprint(("export/*.py", "export/a.py"), package)

    found = fingerprint_of("first", a="1", b="2")
    assert len(found) == 8
    assert fingerprint_of("same", b="2", a="1") == found
    assert fingerprint_of("changed", a="1", b="3") != found
    assert fingerprint_of("renamed", a="1", c="2") != found
    assert fingerprint_of("moved", a="12", b="") != found


def test_versions_are_those_that_are_installed_and_our_own() -> None:
    maker = Maker(("pydantic", "no-such-distribution"), ("keys.py",))
    assert maker.installed() == {"pydantic": version("pydantic")}
    assert maker.versions({"image": "1"}) == {"image": "1", RUNNER: fingerprint(("keys.py",))}


@pytest.mark.torch
@pytest.mark.parametrize("maker", [GRAPHS, REFERENCES])
def test_versions_tell_no_processor(maker: Maker) -> None:
    found = maker.installed()
    assert sorted(found) == sorted(maker.libraries)
    assert not any("+" in version for version in found.values())


def test_a_name_that_says_something_else_than_would_be_made_is_refused() -> None:
    key = partial(reference_key, BERT, "forward", 0)
    for libraries in (REFERENCES.installed(), {"image": __version__}):
        check_key(key(REFERENCES.versions(libraries)), REFERENCES, key)
    with pytest.raises(BenchError, match=r"^old: this environment would make bert-tiny-forward-"):
        check_key("old", REFERENCES, key)
    with pytest.raises(BenchError, match="this environment would make"):
        check_key(key({**REFERENCES.installed(), RUNNER: "00000000"}), REFERENCES, key)
