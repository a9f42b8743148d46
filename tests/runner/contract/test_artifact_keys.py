"""Names change with whatever decides what lies under them, our own code included."""

from functools import partial
from pathlib import Path

import grimp
import pytest

from runner import __version__
from runner.contract.artifact_keys import (
    COUNTS,
    GRAPHS,
    REFERENCES,
    RUNNER,
    Producer,
    check_key,
    fingerprint,
    graph_key,
    reference_key,
    sources,
)
from runner.contract.errors import BenchError
from runner.contract.models import find
from tests.support.words import raises_words

BERT = find("bert-tiny")
MADE_BY = {"torch": "2.13.0", "onnx": "1.23.2", RUNNER: "0a1b2c3d"}


PRODUCERS = {"graphs": GRAPHS, "references": REFERENCES, "counts": COUNTS}


@pytest.mark.parametrize("producer", PRODUCERS.values(), ids=PRODUCERS)
def test_whatever_a_producer_imports_decides(producer: Producer) -> None:
    graph = grimp.build_graph(RUNNER, cache_dir=None)
    found = sources(producer)
    for module in found:
        imported = graph.find_modules_directly_imported_by(module) - {RUNNER}
        assert imported <= {*found, *producer.neutral} | neutral(imported), module
    assert all(found[module].is_file() for module in producer.modules)


def neutral(modules: set[str]) -> set[str]:
    """Those of the modules that change nothing in what is made."""
    packages = ("runner.measure", "runner.process", "runner.contract.record")
    named = {"artifact_keys", "axes", "cell", "errors", "files", "job", "rounds", "support"}
    own = {f"runner.contract.{name}" for name in named}
    own.add("runner.backends.base")
    return {name for name in modules if name in own or name.startswith(packages)}


def test_whatever_changes_the_graph_changes_its_key() -> None:
    keys = {
        graph_key(BERT, "forward", "fp32", 0, MADE_BY),
        graph_key(BERT, "generation", "fp32", 0, MADE_BY),
        graph_key(BERT, "forward", "int8_dynamic", 0, MADE_BY),
        graph_key(BERT, "forward", "uint8_dynamic", 0, MADE_BY),
        graph_key(BERT, "forward", "fp32", 1, MADE_BY),
        graph_key(BERT, "forward", "fp32", 0, {**MADE_BY, "torch": "2.14.0"}),
        graph_key(BERT, "forward", "fp32", 0, {**MADE_BY, RUNNER: "0a1b2c3e"}),
        graph_key(find("gpt2"), "forward", "fp32", 0, MADE_BY),
        graph_key(BERT.model_copy(update={"forward": {"x": True}}), "forward", "fp32", 0, MADE_BY),
    }
    assert len(keys) == 9


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


def test_a_fingerprint_is_of_the_names_and_contents_of_all_that_is_imported(tmp_path: Path) -> None:
    producer = Producer((), ("runner.export.a",), neutral=("runner.export.quiet",))
    texts = {
        "a": "from runner.export import (\n    b,\n    quiet,\n)\n",
        "b": "import json\n\ndef late():\n    from runner.export.c import C\n",
        "c": "C = 1\n",
        "quiet": "from runner.export import unused\n",
        "unused": "",
    }

    def fingerprint_of(folder: str, **changes: str) -> str:
        package = tmp_path / folder / RUNNER
        (package / "export").mkdir(parents=True)
        for name, text in {**texts, **changes}.items():
            (package / "export" / f"{name}.py").write_text(text)
        return fingerprint(producer, package)

    first = fingerprint_of("first")
    assert len(first) == 8
    assert fingerprint_of("same", quiet="1", unused="2", other="3") == first
    changed = {fingerprint_of(f"{name}", **{name: f"{texts[name]}# more\n"}) for name in "abc"}
    assert len({first, *changed}) == 4


def test_a_name_that_says_something_else_than_would_be_made_is_refused() -> None:
    key = partial(reference_key, BERT, "forward", 0)
    for libraries in (REFERENCES.installed(), {"image": __version__}):
        check_key(key(REFERENCES.versions(libraries)), REFERENCES, key)
    with raises_words(BenchError, match=r"^old: this environment produces embedding-forward-"):
        check_key("old", REFERENCES, key)
    with raises_words(BenchError, match="this environment produces"):
        check_key(key({**REFERENCES.installed(), RUNNER: "00000000"}), REFERENCES, key)
