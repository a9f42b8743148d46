"""CSV and JSON of any shape, read as a mapping says."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.exchange.imports.formats.mapping import (
    _COLUMNS,
    MappedFormat,
    MappingFile,
    read_mapping,
)
from runner.contract.errors import DamagedFile, UsageError
from tests.orchestrator.exchange.imports.files import json_document, only, read, text_document


def mapped(**parts: Any) -> MappedFormat:
    columns = {"model": {"from": "net"}, "latency_mean_s": {"from": "ms", "unit": "ms"}}
    data = {"source": "lab-bench"} | parts
    data["columns"] = columns | parts.get("columns", {})
    return MappedFormat(MappingFile.model_validate(data), "lab")


def test_a_csv_s_rows_become_measurements() -> None:
    format_ = mapped(
        columns={
            "backend": {"const": "cuda"},
            "batch_size": {"from": "bs"},
            "precision": {"from": "dtype", "values": {"float16": "fp16"}},
            "memory_peak_bytes": {"from": "peak", "unit": "GiB"},
        },
        libraries={"torch": {"from": "torch"}, "cuda": {"const": 12.4}},
    )
    text = "net,bs,dtype,ms,peak,torch,note\nresnet50,8,float16,12.4,1.5,2.4.1,warm\n"
    found = only(read(format_, text_document(text)))
    assert (format_.name, format_.source) == ("mapping:lab", "lab-bench")
    assert (found.location, found.model, found.backend, found.status) == (
        "line 2",
        "resnet50",
        "cuda",
        "ok",
    )
    assert (found.batch_size, found.precision, found.latency_mean_s) == (8, "fp16", 0.0124)
    assert found.memory_peak_bytes == 1610612736
    assert found.libraries == {"torch": "2.4.1", "cuda": "12.4"}
    assert found.details["note"] == "warm"
    assert "ms" not in found.details


def test_settings_are_named_by_the_mapping() -> None:
    format_ = mapped(settings={"layout": {"from": "memory"}, "cards": {"const": 2}})
    found = only(read(format_, text_document("net,ms,memory\nbert,1.5,nhwc\n")))
    assert found.settings == "cards 2, layout nhwc"
    assert only(read(mapped(), text_document("net,ms,memory\nbert,1,nhwc\n"))).settings is None


def test_another_delimiter() -> None:
    found = only(read(mapped(delimiter=";"), text_document("net;ms\nresnet50;5\n")))
    assert found.latency_mean_s == 0.005


def test_outcomes_are_translated() -> None:
    outcome = {"from": "end", "values": {"done": "ok", "oom": "out_of_memory"}}
    format_ = mapped(columns={"status": outcome, "reason": {"from": "why"}})
    text = "net,ms,end,why\na,5,done,\nb,,oom,no memory\nc,5,bored,\nd,,done,\n"
    reading = read(format_, text_document(text))
    told = [(found.model, found.status, found.reason) for found in reading.measurements]
    assert told == [("a", "ok", None), ("b", "out_of_memory", "no memory")]
    assert reading.faults == (
        "line 4: end: 'bored' is not one of done, oom in the mapping's values",
    )
    assert reading.empty == ("line 5",)


def test_a_status_of_ours_needs_no_translation() -> None:
    format_ = mapped(columns={"status": {"from": "end"}})
    reading = read(format_, text_document("net,ms,end\na,5,failed\nb,5,broke\n"))
    assert reading.measurements[0].status == "failed"
    assert reading.faults[0].startswith("line 3: end: 'broke' is not one of ok, unsupported")


def test_json_rows_lie_at_a_path_and_know_what_they_hang_on() -> None:
    format_ = mapped(
        rows="results.*.*",
        columns={
            "model": {"key": 1},
            "latency_mean_s": {"from": "time.mean", "unit": "us"},
            "device_name": {"from": "/gpu/name"},
            "durations_ns": {"from": "time.all", "unit": "us"},
            "batch_size": {"from": "b"},
        },
    )
    data = {
        "gpu": {"name": "NVIDIA L4", "driver": "550"},
        "results": {
            "resnet50": [{"b": 1, "time": {"mean": 5100, "all": [5000, 5200]}}],
            "vit": [{"b": 1, "time": {"mean": 6000.5}}, {"b": 8, "time": {"mean": None}}],
        },
    }
    reading = read(format_, json_document(data))
    first, second = reading.measurements
    assert (first.location, first.model, first.device_name) == (
        "/results/resnet50/0",
        "resnet50",
        "NVIDIA L4",
    )
    assert (first.latency_mean_s, first.durations_ns) == (0.0051, (5000000, 5200000))
    assert (second.model, second.latency_mean_s) == ("vit", 0.0060005)
    assert first.details["/gpu.driver"] == "550"
    assert reading.empty == ("/results/vit/1",)


def test_json_without_a_path_is_its_list_or_itself() -> None:
    row = {"net": "a", "ms": 5, "b": {"c": 1}}
    assert only(read(mapped(), json_document([row]))).location == "/0"
    assert only(read(mapped(), json_document(row))).location == "/"
    assert only(read(mapped(), json_document({"a.b": 1, **row}))).details == {
        "a.b": "1",
        "b.c": "1",
    }


def test_a_wrong_constant_is_told_as_the_mapping_s() -> None:
    format_ = mapped(columns={"batch_size": {"const": 0}})
    with pytest.raises(DamagedFile, match="line 2: the mapping's const: 0 is not above 0"):
        format_.read(text_document("net,ms,const\na,5,kept\n"))
    found = only(
        read(
            mapped(columns={"backend": {"const": "cpu"}}), text_document("net,ms,const\na,5,kept\n")
        )
    )
    assert found.details == {"const": "kept"}


def test_times_get_a_zone() -> None:
    format_ = mapped(columns={"measured_at": {"from": "at"}})
    text = "net,ms,at\na,5,2025-03-01T12:00:00+01:00\nb,5,2025-03-01 12:00:00\nc,5,yesterday\n"
    reading = read(format_, text_document(text))
    first, second = reading.measurements
    assert first.measured_at == datetime(2025, 3, 1, 11, tzinfo=UTC)
    assert second.measured_at == datetime(2025, 3, 1, 12, tzinfo=UTC)
    assert second.details["measured_at"] == "has no zone and is taken as UTC"
    assert reading.faults == ("line 4: at: 'yesterday' is not a time such as 2025-03-01T12:00:00Z",)


def test_simulated_rows_are_marked_whether_mapped_or_not() -> None:
    format_ = mapped(columns={"simulated": {"from": "fake"}})
    reading = read(format_, text_document("net,ms,fake\na,5,yes\nb,5,0\nc,5,perhaps\n"))
    assert [found.marks for found in reading.measurements] == [("line 2/fake: 'yes'",), ()]
    assert reading.faults == ("line 4: fake: 'perhaps' is neither true nor false",)
    around = {"is_simulated": True, "rows": [{"net": "a", "ms": 5}]}
    found = only(read(mapped(rows="rows.*"), json_document(around)))
    assert (found.simulated, found.marks) == (True, ("/is_simulated: true",))


def test_broken_rows_let_the_others_through() -> None:
    reading = read(mapped(), json_document([{"net": "a", "ms": 5}, 7, {"net": "b", "ms": "x"}]))
    assert len(reading.measurements) == 1
    assert reading.faults == ("/1: 7 is not a table of values", "/2: ms: 'x' is not a number")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nett,ms\na,5\n", "the mapping names 'net', which is not in the file; did you mean nett?"),
        ('[{"net": "a", "time": 5}]', "the mapping names 'ms', which is not in the file"),
        ("[]", "the mapping names 'net', which is not in the file"),
        (
            "net;ms\na;5\n",
            "the mapping names 'net', which is not in the file;"
            " ',' separates no columns in its first line",
        ),
        ("[7]", "/0: 7 is not a table of values"),
        ("", "the mapping names 'net', which is not in the file"),
        ("net,net,ms\n", "line 1: the column 'net' appears twice"),
    ],
)
def test_a_file_that_lacks_what_is_named_does_not_fit(text: str, told: str) -> None:
    document = text_document(text)
    assert not mapped().recognises(document)
    with pytest.raises(DamagedFile) as refused:
        mapped().read(document)
    assert str(refused.value) == told


def test_a_path_that_is_not_there_is_told() -> None:
    document = json_document({"runs": []})
    assert not mapped(rows="results.*").recognises(document)
    with pytest.raises(DamagedFile, match="/results: is not in the file"):
        mapped(rows="results.*").read(document)


def test_a_header_alone_holds_no_measurement() -> None:
    reading = read(mapped(), text_document("net,ms\n"))
    assert reading.nothing == "a table without a measured value"


VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["net", "ms", "other"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(st.lists(VALUE, max_size=4))
def test_each_row_of_any_json_is_accounted_for(rows: list[Any]) -> None:
    document = json_document([{"net": "a", "ms": 5}, *rows])
    reading = read(mapped(), document)
    told = [*(found.location for found in reading.measurements), *reading.empty]
    told += [fault.partition(":")[0] for fault in reading.faults]
    assert set(told) == {f"/{position}" for position in range(len(rows) + 1)}


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
