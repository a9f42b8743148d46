"""Whatever a file says, its reader takes it or refuses it with one clear error, and never as a bug.

A module that parses and stands neither in `READERS` nor in `OTHERS` fails the last test.
"""

import re
import tempfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.properties import try_examples
from tests.support.readers import READERS, Reader
from tests.support.readings import refusals

MANY = 18
"""As many times the examples of the fast suite does the slow one try."""
PARSERS = re.compile(
    r"\b(model_validate_json|validate_json|from_json|json\.loads?|parse_json|parse_yaml|yaml\.parse|"
    r"read_source|ZipFile|check_rows|read_schema|read_table|read_metadata|csv\.reader)\("
)
OTHERS = {
    "orchestrator.commands.fleet.host_program": "a run's file, tried as `run.json` here",
    "orchestrator.commands.program.completion": "comes with the package",
    "orchestrator.exchange.bundles.foreign": "its child is tried in tests/orchestrator/exchange",
    "orchestrator.commands.measure.baselines": "columns of records, which are tried here",
    "orchestrator.commands.predict.training": "what it has just written",
    "orchestrator.commands.results.side_files": "tried in tests/orchestrator/commands/results",
    "orchestrator.commands.setup.doctor_command": "what its own trial prints",
    "orchestrator.fleet.host": "what this machine itself has written",
    "orchestrator.fleet.transports.ray": "what this machine itself has written",
    "orchestrator.fleet.transports.ray_driver": "what this machine itself has written",
    "orchestrator.images.lock": "comes with the package",
    "orchestrator.images.remote": "tried in tests/orchestrator/images",
    "orchestrator.images.source": "comes with the package",
    "orchestrator.images.image": "tried in tests/orchestrator/images",
    "orchestrator.launchers.checkout": "tried in tests/orchestrator/launchers",
    "orchestrator.matrix.unknown_models": "comes with the package",
    "orchestrator.store.database.connect": "DuckDB's own messages",
    "orchestrator.system.known_hashes": "tried in tests/orchestrator/system",
    "orchestrator.store.schema.tables": "comes with the package",
    "runner.contract.models.catalogue": "comes with the package",
    "runner.contract.models.work": "comes with the package",
    "runner.contract.record.record": "tried in tests/orchestrator/commands/measure",
    "runner.contract.reasons": "takes any text: what is no reason of ours is what was said",
}
"""Modules that parse what is not of others, or is tried elsewhere."""


def by_name(reader: Reader) -> str:
    return reader.name


def check(reader: Reader, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, refusals():
        reader.read(Path(folder), content)


@pytest.mark.parametrize("reader", READERS, ids=by_name)
def test_anything_is_taken_or_refused(reader: Reader) -> None:
    try_examples(reader.fast, lambda content: check(reader, content), reader.contents())


@pytest.mark.nightly
@pytest.mark.parametrize("reader", READERS, ids=by_name)
def test_many_things_are_taken_or_refused(reader: Reader) -> None:
    try_examples(MANY * reader.fast, lambda content: check(reader, content), reader.contents())


@pytest.mark.parametrize(
    ("reader", "content"),
    [(reader, content) for reader in READERS for content in reader.found],
    ids=lambda part: part.name if isinstance(part, Reader) else "",
)
def test_what_was_a_bug_once_is_none(reader: Reader, content: bytes) -> None:
    check(reader, content)


def test_every_module_that_parses_is_tried() -> None:
    sources = [*(ROOT / "orchestrator").rglob("*.py"), *(ROOT / "runner/contract").rglob("*.py")]
    parsing = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sources
        if PARSERS.search(path.read_text("utf-8").replace("def parse_", "def "))
    }
    tried = {module for reader in READERS for module in reader.modules}
    assert parsing - tried == OTHERS.keys()
