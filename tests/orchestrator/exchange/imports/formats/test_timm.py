"""timm's result files, in every form that its script has given them."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats.timm import Timm
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import json_document, only, read, text_document
from tests.support.data import TIMM_FILES

GPU = "benchmark-infer-amp-nhwc-pt210-cu121-rtx3090.csv"
CPU = "benchmark-infer-fp32-nchw-pt221-cpu-i9_10940x-dynamo.csv"

INFER = """\
model,infer_img_size,infer_batch_size,infer_samples_per_sec,infer_step_time,infer_gmacs,infer_macts,param_count
tinynet_e,106,1024.0,75290.96,13.591,0.03,0.69,2.04
eva02_enormous_patch14_clip_224,224,,,,1132.46,497.58,4350.56
"""


def test_a_row_becomes_a_measurement_and_the_file_s_name_tells_device_and_software() -> None:
    reading = read(Timm(), text_document(INFER, GPU))
    (found,) = reading.measurements
    assert reading.empty == ("line 3",)
    assert (found.location, found.model) == ("line 2", "tinynet_e")
    assert (found.mode, found.status) == ("inference", "ok")
    assert (found.throughput, found.latency_mean_s) == (75290.96, 0.013591)
    assert (found.batch_size, found.image_size, found.parameters) == (1024, 106, 2040000)
    assert (found.family, found.modality) == ("vision", "image")
    assert found.details == {
        "infer_gmacs": "0.03",
        "infer_macts": "0.69",
        "file_name.layout": "nhwc",
    }
    assert found.settings == "layout nhwc"
    assert found.latency_median_s is None
    assert found.durations_ns is None
    assert (found.backend, found.runtime, found.precision) == ("cuda", "torch", "amp")
    assert (found.device_name, found.cpu_model) == ("rtx3090", None)
    assert found.libraries == {"torch": "2.1.0", "cuda": "12.1"}
    (bare,) = read(Timm(), text_document(INFER, "mine.csv")).measurements
    assert bare.throughput == found.throughput
    told = (bare.backend, bare.runtime, bare.precision, bare.device_name, bare.libraries)
    assert told == (None, None, None, None, {})


def test_a_processor_is_the_device() -> None:
    text = (
        "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,param_count\n"
        "lcnet_035,308.98,3.161,1,224,1.64\n"
    )
    found = only(read(Timm(), text_document(text, CPU)))
    assert (found.backend, found.runtime) == ("cpu", "torch_compile")
    assert (found.device_name, found.cpu_model) == ("i9_10940x", "i9_10940x")


def test_both_modes_in_one_row_are_two_measurements() -> None:
    text = (
        "model,infer_samples_per_sec,infer_step_time,train_samples_per_sec,train_batch_size\n"
        "a,10,100,5,32\nb,,,7,16\n"
    )
    reading = read(Timm(), text_document(text))
    told = [(found.location, found.mode, found.throughput) for found in reading.measurements]
    assert told == [
        ("line 2, infer", "inference", 10),
        ("line 2, train", "training", 5),
        ("line 3", "training", 7),
    ]
    assert all("train_batch_size" not in found.details for found in reading.measurements)


def test_json_is_read_like_csv_and_an_error_is_a_failure() -> None:
    rows = [
        {"model": "resnet50", "infer_samples_per_sec": 2500, "infer_step_time": 102.4},
        {"model": "vit_giant", "error": "CUDA out of memory. Tried to allocate 20.00 MiB"},
    ]
    good, bad = read(Timm(), json_document(rows)).measurements
    assert (good.location, good.throughput, good.latency_mean_s) == ("/0", 2500, 0.1024)
    assert (bad.location, bad.status, bad.model) == ("/1", "out_of_memory", "vit_giant")
    assert bad.reason == "CUDA out of memory. Tried to allocate 20.00 MiB"
    assert only(read(Timm(), json_document(rows[0]))).location == "/"


def test_a_mode_that_failed_leaves_the_other_one_s_numbers() -> None:
    row = {"model": "vit", "infer_samples_per_sec": 5.0, "error": "CUDA out of memory"}
    good, bad = read(Timm(), json_document([row])).measurements
    assert (good.location, good.status, good.throughput) == ("/0, infer", "ok", 5)
    assert (bad.location, bad.status, bad.throughput) == ("/0, error", "out_of_memory", None)


def test_sizes_without_timings_and_a_header_alone_are_no_measurement() -> None:
    sizes = text_document("model,infer_gmacs,infer_macts,param_count\nresnet50,4.11,11.11,25.56\n")
    assert read(Timm(), sizes).nothing == "sizes of models, without a timing"
    header = text_document("model,infer_samples_per_sec\n")
    assert read(Timm(), header).nothing == "a table of models without rows"


@pytest.mark.parametrize(
    "text",
    ["model,top1,param_count\nresnet50,80,25\n", "model,pretrain\na,in1k\n", "", "{}", "[1]", "[]"],
)
def test_other_tables_are_not_recognised(text: str) -> None:
    assert not Timm().recognises(text_document(text))


def test_broken_rows_are_told_with_their_lines() -> None:
    text = INFER + "resnet18,224,256,fast,-3\nresnet34,224,256.5,10,1,,,\n"
    reading = read(Timm(), text_document(text))
    assert len(reading.measurements) == 1
    assert reading.faults == (
        "line 4: 5 fields stand under 8 columns",
        "line 5: infer_batch_size: 256.5 is not a whole number",
    )


def test_a_table_of_broken_rows_is_not_readable() -> None:
    document = text_document("model,infer_samples_per_sec\na,fast\n,5\n")
    with pytest.raises(DamagedFile, match=r"line 2: .*'fast' is not a number; line 3: model: is"):
        Timm().read(document)


def test_a_mark_makes_a_row_simulated() -> None:
    text = "model,infer_samples_per_sec,is_simulated\na,5,True\nb,6,False\n"
    marked, plain = read(Timm(), text_document(text)).measurements
    assert (marked.simulated, marked.marks) == (True, ("line 2/is_simulated: 'True'",))
    assert not plain.simulated


NAMES = ["model", "infer_samples_per_sec", "train_step_time", "infer_batch_size", "error", "extra"]
WORDS = st.sampled_from(["", "NaN", "12.5", "x", "1e3"])
CELL = st.one_of(
    *(st.none(), st.floats(), st.integers(), st.booleans(), WORDS),
    st.lists(st.integers(), max_size=2),
)
ROW = st.dictionaries(st.sampled_from(NAMES), CELL)


@given(st.lists(ROW, min_size=1, max_size=4))
def test_whatever_the_cells_hold_each_row_is_accounted_for(rows: list[dict[str, Any]]) -> None:
    document = json_document([{"model": "m", "infer_samples_per_sec": 1.0}, *rows])
    reading = read(Timm(), document)
    told = [*(found.location for found in reading.measurements), *reading.empty, *reading.faults]
    for position in range(len(rows) + 1):
        assert any(text.startswith(f"/{position}") for text in told)
    assert all(found.throughput is None or found.throughput >= 0 for found in reading.measurements)


@pytest.mark.parametrize("path", TIMM_FILES, ids=lambda path: path.name)
def test_every_real_file_is_read_whole(path: Path) -> None:
    document = Document.read(path)
    reading = read(Timm(), document)
    part = "train" if "-train-" in path.name else "infer"
    lines = [line.split(",") for line in path.read_text().splitlines()]
    columns = {name: position for position, name in enumerate(lines[0])}
    timed = [line for line in lines[1:] if line[columns[f"{part}_samples_per_sec"]]]
    assert reading.faults == ()
    assert len(reading.measurements) == len(timed)
    assert len(reading.measurements) + len(reading.empty) == len(lines) - 1
    speeds = [float(line[columns[f"{part}_samples_per_sec"]]) for line in timed]
    steps = [float(line[columns[f"{part}_step_time"]]) for line in timed]
    assert math.fsum(found.throughput or 0 for found in reading.measurements) == math.fsum(speeds)
    latencies = math.fsum(found.latency_mean_s or 0 for found in reading.measurements)
    assert latencies == pytest.approx(math.fsum(steps) / 1000, rel=1e-12)
    assert all(found.device_name and found.batch_size for found in reading.measurements)


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("infer-amp-nhwc-pt240-cu124-rtx4090", ("amp", "nhwc", "2.4.0", "12.4", "rtx4090")),
        ("infer-amp-nchw-pt112-cu113-rtx3090", ("amp", "nchw", "1.12", "11.3", "rtx3090")),
        ("infer-amp-nchw-pt1131-cu117-l4", ("amp", "nchw", "1.13.1", "11.7", "l4")),
        ("infer-fp32-nchw-pt221-cpu-i9-dynamo", ("fp32", "nchw", "2.2.1", None, "i9")),
        ("infer-amp_bf16-nchw-pt291-cu130-x-dynamo", ("amp_bf16", "nchw", "2.9.1", "13.0", "x")),
        ("infer-amp-nchw-pt240-cu124-rtx3090 (1)", (None, None, None, None, None)),
    ],
)
def test_a_name_that_follows_the_pattern_is_taken_apart(
    name: str, facts: tuple[str | None, ...]
) -> None:
    (found,) = read(Timm(), text_document(INFER, f"benchmark-{name}.csv")).measurements
    layout, libraries = found.details.get("file_name.layout"), found.libraries
    software = (libraries.get("torch"), libraries.get("cuda"))
    assert (found.precision, layout, *software, found.device_name) == facts
    assert (found.runtime == "torch_compile") == name.endswith("-dynamo")
