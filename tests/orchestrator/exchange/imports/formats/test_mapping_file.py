"""Mapping files are checked whole, and every mistake is told with its place."""

from pathlib import Path

import pytest

from orchestrator.exchange.imports.formats.mapping import _COLUMNS, read_mapping
from runner.contract.errors import UsageError

TOP = """\
source: lab-bench
columns:
  model: {from: net}
  latency_mean_s: {from: ms, unit: ms}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "lab.yaml"
    path.write_text(text)
    return path


def told_of(folder: Path, text: str) -> list[str]:
    """The lines of the error about a file with this text."""
    with pytest.raises(UsageError) as refused:
        read_mapping(written(folder, text))
    assert "such as {source: lab, columns: {model: {from: name}" in (refused.value.hint or "")
    return [line.removeprefix(f"{folder}/") for line in str(refused.value).splitlines()]


def test_reads_a_mapping(tmp_path: Path) -> None:
    mapping = read_mapping(written(tmp_path, TOP))
    assert (mapping.source, mapping.rows, mapping.delimiter) == ("lab-bench", None, ",")
    assert mapping.columns["latency_mean_s"].from_ == "ms"


def test_every_column_of_ours_can_be_mapped(tmp_path: Path) -> None:
    units = {"s": "ms", "ns": "us", "bytes": "MiB", "joules": "Wh"}
    columns = ""
    for name in _COLUMNS:
        unit = units.get(name.rpartition("_")[2])
        columns += f"  {name}: {{const: 1{f', unit: {unit}' if unit else ''}}}\n"
    mapping = read_mapping(written(tmp_path, f"source: lab\ncolumns:\n{columns}"))
    assert tuple(mapping.columns) == _COLUMNS


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("latency_p50: {from: ms, unit: ms}", "unknown key; did you mean latency_p50_s?"),
        ("latency_p50_s: {from: ms}", "unit: is required: one of s, ms, us, ns, min, h (line 5)"),
        ("latency_p50_s: {from: ms, unit: sec}", "unit: 'sec' is not one of s, ms, us, ns, min, h"),
        ("memory_peak_bytes: {from: m, unit: mb}", "unit: 'mb' is not one of B, kB, MB"),
        ("durations_ns: {from: t}", "unit: is required: one of s, ms, us, ns (line 5)"),
        ("backend: {const: cuda, unit: s}", "unit: backend has no unit"),
        ("status: {from: ok, unit: s}", "unit: status has no unit"),
        ("backend: {from: b, const: cuda}", "must name exactly one of from, const and key"),
        ("backend: {}", "must name exactly one of from, const and key"),
        ("backend: {from: null}", "must name exactly one of from, const and key"),
        ("backend: {const: [cuda]}", "const must be text, a number, true or false"),
        (
            "backend: {form: b}",
            "form: unknown key; did you mean from? (from, const, key, unit, values",
        ),
        ("backend: cuda", "must be a mapping of keys to values"),
        ("backend: {key: 1}", "key: 1 is more than the 0 `*` in rows (line 5)"),
        ("backend: {key: 0}", "key: 0 is not above 0"),
        ("backend: {from: b, values: {}}", "values: "),
    ],
)
def test_a_wrong_column_is_told_with_place_and_line(tmp_path: Path, line: str, told: str) -> None:
    (message,) = told_of(tmp_path, f"{TOP}  {line}\n")
    assert message.startswith(f"lab.yaml: columns.{line.partition(':')[0]}")
    assert told in message
    assert "(line 5)" in message


def test_a_misspelt_column_gets_a_suggestion(tmp_path: Path) -> None:
    (message,) = told_of(tmp_path, TOP + "  latncy_max_s: {from: ms, unit: ms}\n")
    assert message.endswith("; did you mean latency_max_s? (line 5)")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    columns = "  latency_mean_s: {from: ms, unit: ms, scale: 2}\n  nett: {const: 1}\n"
    told = told_of(tmp_path, f"sorce: lab\ncolumns:\n{columns}")
    assert [line.split(": ")[1] for line in told] == [
        "source",
        "sorce",
        "columns.latency_mean_s.scale",
        "columns.nett",
    ]


def test_model_is_required(tmp_path: Path) -> None:
    told = told_of(tmp_path, "source: lab\ncolumns:\n  batch_size: {from: b}\n")
    assert told == ["lab.yaml: columns.model: is required: no record is without its model (line 2)"]


def test_a_file_that_is_empty_or_missing_is_refused(tmp_path: Path) -> None:
    assert told_of(tmp_path, "") == ["lab.yaml: is empty"]
    with pytest.raises(UsageError, match=r"none\.yaml: there is no such file"):
        read_mapping(tmp_path / "none.yaml")
