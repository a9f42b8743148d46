"""Every file ends in one of the outcomes, whatever it holds."""

from pathlib import Path

import pytest

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.formats.mapping import MappedFormat
from orchestrator.exchange.imports.outcome import FileOutcome, read_document, read_file
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import (
    TABLE,
    json_document,
    text_document,
    verdicts_on,
    write,
)
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT, MODELS
from tests.orchestrator.exchange.imports.formats.optimum import config


def judged(content: bytes, name: str = "file.json") -> FileOutcome:
    return read_document(Document(Path(name), content), FORMATS)


def test_a_file_with_records() -> None:
    verdict = read_document(json_document(DIRECT), FORMATS)
    assert (verdict.kind, verdict.summary) == ("records", "2 records")
    assert (verdict.format, verdict.source) == ("legacy-direct", "ipfs_accelerate_py")
    assert read_document(text_document(TABLE), FORMATS).summary == "2 records"


def test_a_file_without_a_measurement() -> None:
    verdict = read_document(json_document(MODELS), FORMATS)
    assert verdict.kind == "no measurement"
    assert verdict.summary == "holds no measurement: a list of models"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b'{"a": [1,\n', "not JSON: Expecting value (line 2, column 1)"),
        (b'{"a": 1} trailing', "not JSON: Extra data (line 1, column 10)"),
        (b"\x89PNG\r\n\x1a\n\xff", "it is not text in UTF-8"),
        (b"\x00" * 100, "it is not text in UTF-8"),
        (b'{"model": "caf\xe9"}', "it is not text in UTF-8"),
        (b"\x1f\x8b\x08\x00\x00", "it is compressed; unpack it first"),
        (b'{"a": 1, "a": 2}', "'a' appears twice in one object, with different values"),
        (b"PAR1\x15\x04", "a Parquet file; `orchestrator merge` takes those of AccelMatrix"),
        (b"[" * 100_000, "not JSON that can be read: it is nested too deeply"),
        (b"9" * 5000, "not JSON that can be read: Exceeds the limit"),
        (b'{"name": "x", "version": 1}', "of no shape that is known: an object with name, version"),
        (b"[]", "of no shape that is known: a list of 0"),
        (b'[{"a": 1}, 2]', "of no shape that is known: a list of 2, first an object with a"),
        (b"{}", "of no shape that is known: an empty one"),
        (b"null", "of no shape that is known: a bare value"),
    ],
)
def test_what_is_not_recognised_says_why(content: bytes, why: str) -> None:
    verdict = judged(content)
    assert verdict.kind == "not recognised"
    assert why in verdict.summary


def test_text_of_another_kind_is_told_of_the_mapping() -> None:
    verdict = judged(b"# Notes\n\nNothing measured.\n", "notes.md")
    assert verdict.summary.endswith("`--mapping` describes any other CSV or JSON")
    assert judged(b'{"a": ', "results.txt").summary.startswith("not recognised: not JSON: ")


def test_nesting_that_json_allows_ends_as_an_outcome() -> None:
    deep = b'{"model": "m", "batch_results": ' + b'{"a": ' * 400 + b"1" + b"}" * 401
    for depth in (100, 400, 900):
        text = b"[" * depth + b"]" * depth
        assert judged(text).kind == "not recognised"
    assert judged(deep).kind in {"no measurement", "not recognised"}


def test_the_name_of_the_file_marks_its_records() -> None:
    verdict = read_document(text_document(TABLE, "rtx4090_simulated.csv"), FORMATS)
    assert all(found.simulated for found in verdict.reading.measurements)
    assert verdict.reading.measurements[0].marks == ("file name: 'rtx4090_simulated.csv'",)


def test_a_shape_whose_values_contradict_it_keeps_its_format() -> None:
    broken = {**DIRECT, "batch_results": {"1": {"avg_latency_ms": "slow"}}}
    verdict = read_document(json_document(broken), FORMATS)
    assert (verdict.kind, verdict.format) == ("not recognised", "legacy-direct")
    assert "'slow' is not a number" in verdict.summary


def test_with_a_mapping_its_own_reason_is_told(tmp_path: Path) -> None:
    mapping = write(
        tmp_path / "lab.yaml",
        "source: lab\ncolumns: {model: {from: net}, mode: {const: inference}}",
    )
    verdict = read_document(text_document("nett,ms\na,1\n"), (MappedFormat.load(mapping),))
    assert verdict.kind == "not recognised"
    assert "'net', which is not in the file; did you mean nett?" in verdict.summary


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    dangling = tmp_path / "dangling.json"
    dangling.symlink_to(tmp_path / "nowhere")
    verdict = read_file(dangling, FORMATS, is_named=True)
    assert verdict.summary == "not recognised: cannot be read: No such file or directory"
    assert verdict.sha256 == ""
    device = read_file(Path("/dev/null"), FORMATS, is_named=True).summary
    assert device == "not recognised: it is a device, not a plain file"
    folder = read_file(tmp_path, FORMATS).summary
    assert folder == "not recognised: it is a folder that cannot be listed"


def test_giants_are_not_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", "x" * 2000)
    with pytest.raises(DamagedFile, match="it has 2,000 bytes; at most 1,000 are allowed"):
        Document.read(file, largest_bytes=1000)


def test_of_two_files_with_the_same_content_the_first_has_the_records(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.json", DIRECT), write(tmp_path / "b.json", DIRECT)
    other = write(tmp_path / "c.json", {**DIRECT, "model": "other"})
    kinds = [verdict.kind for verdict in verdicts_on(first, second, other)]
    assert kinds == ["records", "same content", "records"]
    told = verdicts_on(tmp_path)
    assert told[1].summary == f"same content as {first}"
    assert told[0].run_id == told[1].run_id != told[2].run_id


def test_files_that_hold_nothing_stand_for_themselves(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.json", MODELS)
        write(tmp_path / f"{name}.txt", "")
    told = [verdict.kind for verdict in verdicts_on(tmp_path)]
    assert told == ["no measurement", "not recognised"] * 2


def test_the_same_failure_of_two_models_is_two_imports(tmp_path: Path) -> None:
    for model in ("one", "two"):
        write(tmp_path / model / "benchmark_report.json", {"traceback": "RuntimeError: broken"})
        write(tmp_path / model / "benchmark_config.json", config(backend={"model": model}))
    told = [each for each in verdicts_on(tmp_path) if each.path.name == "benchmark_report.json"]
    assert [verdict.kind for verdict in told] == ["records", "records"]
    assert told[0].sha256 == told[1].sha256
    assert told[0].run_id != told[1].run_id


def test_each_mapping_makes_an_import_of_its_own(tmp_path: Path) -> None:
    text = "source: lab\ncolumns: {model: {from: net}, latency_mean_s: {from: ms, unit: ms}}"
    formats = [MappedFormat.load(write(tmp_path / name, text)) for name in ("one.yaml", "two.yaml")]
    document = text_document("net,ms\na,1\n")
    one, two = (read_document(document, [each]) for each in formats)
    assert one.reading.measurements == two.reading.measurements
    assert one.run_id != two.run_id
