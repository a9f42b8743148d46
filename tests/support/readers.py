"""Everything that reads what others wrote: what it may meet, and how it is read.

A new reader gets a row in `READERS`; `tests/contracts/test_readers.py` tries it.
"""

import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine
from analysis.predict.forecaster import Forecaster, predictor_files
from analysis.predict.manifest import EVALUATION_NAME, MANIFEST_NAME, TrainingOrigin, text_digest
from analysis.predict.predictor import train_target
from orchestrator.exchange.bundles.archive import write_archive
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.fleet.messages import Beat, Ended, Frame, Noted, Visited, encode, frame_of
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from runner.contract.graph import GRAPH_FILE
from runner.contract.record.files import arrow_schema, save_record
from tests.analysis.predict.examples import a_placement, an_evaluation, an_example
from tests.orchestrator.exchange.imports.files import TABLE
from tests.orchestrator.exchange.imports.formats.legacy.samples import COLLECTION
from tests.orchestrator.exchange.imports.formats.optimum import config, encoder_report
from tests.support.data import SAMPLES
from tests.support.fakes import counted_work
from tests.support.hostile import damaged, documents, tables, zip_of
from tests.support.jobs import a_graph, a_job, fake_cell
from tests.support.readings import (
    CALIBRATED_HOST,
    MATRIX,
    PRETRAINED,
    read_bundle,
    read_calibration,
    read_compacted,
    read_counted_work,
    read_decisions,
    read_evaluation,
    read_frames,
    read_hosts,
    read_import,
    read_imported,
    read_job,
    read_kept,
    read_kept_verification,
    read_mapped,
    read_matrix,
    read_merged,
    read_model_config,
    read_model_file,
    read_override,
    read_packed,
    read_part,
    read_predictor,
    read_prepared_graph,
    read_price_list,
    read_progress,
    read_record_file,
    read_reference,
    read_run,
    read_sent_graph,
    read_snapshot,
    read_weights,
)
from tests.support.records import RECORDED_AT, a_record, a_round
from tests.support.results import a_cell, a_verification
from tests.support.runs import a_run_folder
from tests.support.weights import BERT, a_weights_folder

MODEL = {
    "name": "ours",
    "family": "embedding",
    "modality": "text",
    "size": "tiny",
    "config": {"vocab_size": 1000, "hidden_size": 128},
    "inputs": [{"name": "x", "kind": "token_ids", "shape": [1, "sequence_length"], "high": 9}],
    "labels": {"name": "y", "kind": "token_ids", "shape": ["batch_size"], "high": 2},
    "audio_seconds": {"default": 5, "most": 30},
}
MAPPING = {
    "source": "somebody",
    "rows": "results.*",
    "columns": {
        "model_id": {"from": "net"},
        "batch_size": {"const": 1},
        "latency_mean_s": {"from": "ms", "unit": "ms"},
    },
}
HOSTS = {
    "version": 1,
    "hosts": [
        {"name": "a", "address": "me@a", "port": 22, "labels": {"rack": "3"}},
        {"name": "b", "partition": "lab", "limits": {"cpus": 2, "memory": "1GiB"}},
    ],
}
EVENT = {"event": "phase", "phase": "steady", "cell_id": fake_cell().id}


@dataclass(frozen=True)
class Reader:
    """Something that reads what others wrote."""

    name: str
    modules: tuple[str, ...]
    """The modules that parse for it."""
    contents: Callable[[], SearchStrategy[bytes]]
    """What it may meet: a valid sample changed and damaged, and anything else."""
    read: Callable[[Path, bytes], object]
    """Reads the content with the help of an empty folder; raises BenchError alone."""
    fast: int = 8
    """Examples in the fast suite."""
    found: tuple[bytes, ...] = ()
    """Contents that were a bug once."""


def graph_archives() -> SearchStrategy[bytes]:
    """A graph as hosts send it: its description changed, its archive damaged."""

    def archive(description: bytes) -> bytes:
        return zip_of({GRAPH_FILE: description})

    described = a_graph({}).model_dump_json()
    return json_of(json.loads(described)).map(archive) | damaged(archive(described.encode()))


def json_of(data: Any) -> SearchStrategy[bytes]:
    return documents(data) | damaged(json.dumps(data).encode())


def frames() -> SearchStrategy[bytes]:
    """A frame of either side, whole or damaged."""
    whole = [encode(frame_of(message, b"body")) for message in (Beat(), Ended(), Noted(text="x"))]
    said = json_of(json.loads(Visited(cell_id="a").model_dump_json()))
    return st.one_of(*map(damaged, whole)) | said.map(lambda head: encode(Frame(head)))


@cache
def bundle_members() -> dict[str, bytes]:
    """The members of a bundle of one record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "records").mkdir()
        save_record(a_record(), folder / "records")
        with Store.open(folder / "b.duckdb") as store:
            store.merge([folder / "records"]).require_complete()
        write_bundle(folder / "b.duckdb", (), folder / "b.zip", force=False)
        with ZipFile(folder / "b.zip") as archive:
            names = set(archive.namelist()) - {"SHA256SUMS"}
            return {member: archive.read(member) for member in names}


def bundles() -> SearchStrategy[bytes]:
    """A bundle damaged, or with one member changed by somebody who mends the checksums."""
    members = bundle_members()
    row = a_record().model_dump()
    contents: dict[str, SearchStrategy[bytes]] = {
        name: documents(json.loads(content)) | damaged(content)
        for name, content in members.items()
        if name.endswith(".json")
    }
    contents["records.parquet"] = tables(row, arrow_schema()) | damaged(members["records.parquet"])
    contents["../../stray"] = st.just(b"x")
    forged = st.sampled_from(sorted(contents)).flatmap(
        lambda name: contents[name].map(lambda content: _archive({**members, name: content}))
    )
    return forged | damaged(_archive(members)) | damaged(zip_of(members, ZIP_DEFLATED))


@cache
def predictor_members() -> Mapping[str, str]:
    """The files of a predictor with trees, of few results."""
    examples = [
        an_example(float(number * batch), model=f"net-{number}", batch_size=batch, device=device)
        for number in range(1, 7)
        for batch in (1, 2, 3, 4, 6, 8)
        for device in ("big", "small")
    ]
    predictor = train_target(PREDICTION_TARGETS["latency"], examples, ("model", "device"))
    assert predictor is not None
    place = a_placement(device="big").device
    machine = KnownMachine("big", "big", ("cuda",), {"fp32": place}, {("cuda", "torch"): "2"}, 2)
    origin = TrainingOrigin(
        accelmatrix="0.1",
        schema_version=STORE_VERSION,
        trained_at=RECORDED_AT,
        database="b.duckdb",
        sources="ours",
        rows={"run": len(examples)},
        rows_digest="0" * 64,
        doubtful=1,
        left_out={},
    )
    return predictor_files(Forecaster({"latency": predictor}, (machine,)), origin)


def found(files: Mapping[str, str]) -> bytes:
    """These files beside a database that trained the sound ones."""
    digest = text_digest(predictor_members()[MANIFEST_NAME])
    return json.dumps({"digest": digest, "found": files}).encode()


def predictors() -> SearchStrategy[bytes]:
    """A predictor's files, one of them changed by somebody who mends the manifest."""
    members = predictor_members()

    def forged(name: str, content: bytes) -> bytes:
        text = content.decode("utf-8", "replace")
        manifest = json.loads(members[MANIFEST_NAME])
        manifest["files"][name] = text_digest(text)
        return found({**members, MANIFEST_NAME: json.dumps(manifest), name: text})

    def altered(name: str) -> SearchStrategy[bytes]:
        text = members[name].encode()
        contents = documents(json.loads(text)) | damaged(text)
        return contents.map(lambda content: forged(name, content))

    return st.just(found(members)) | st.sampled_from(sorted(members)).flatmap(altered)


def evaluations() -> SearchStrategy[bytes]:
    """A predictor's files with an evaluation that somebody changed."""
    members = predictor_members()
    evaluation = an_evaluation(rows_digest=json.loads(members[MANIFEST_NAME])["rows_digest"])
    text = evaluation.model_dump_json()
    changed = documents(json.loads(text)) | damaged(text.encode())
    return changed.map(
        lambda content: found({**members, EVALUATION_NAME: content.decode("utf-8", "replace")})
    )


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    write_archive(file, members)
    return file.getvalue()


def record_tables() -> SearchStrategy[bytes]:
    return tables(a_record().model_dump(), arrow_schema()) | damaged(a_record_file())


def a_run_file() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        return (a_run_folder(Path(name)).path / "run.json").read_bytes()


def a_record_file() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        return save_record(a_record(), Path(name)).read_bytes()


def a_reference() -> bytes:
    file = io.BytesIO()
    numpy.savez(file, outputs=numpy.arange(8.0))
    return file.getvalue()


def some_weights() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        return (a_weights_folder(Path(name)) / "model.safetensors").read_bytes()


PRICES = {"currency": "EUR", "backends": {"cpu": {"per_hour": 0.1}}, "hardware": {}}
CALIBRATION = {
    "hosts": {
        CALIBRATED_HOST: {
            "cpu/torch/88b3": {"cv": 0.01, "processes": 8, "measured_at": "2026-11-23T00:00:00Z"}
        }
    }
}
MANIFEST = {
    "name": "before",
    "taken_at": "2026-11-21T12:00:00Z",
    "database": "benchmarks.duckdb",
    "schema_version": 1,
    "scratch": False,
    "size_bytes": 100,
    "sha256": "a" * 64,
    "rows": {"results": 3},
    "version": "0.1.0",
    "git_commit": None,
}
COUNTED = json.loads(counted_work().model_dump_json())
TOP = {"config": config(), "report": encoder_report()}
MLPERF = (SAMPLES / "mlperf-server.txt").read_bytes()

READERS = (
    Reader("matrix", ("orchestrator.matrix.load", "orchestrator.system.problems",
                      "orchestrator.system.yaml_text", "orchestrator.system.plain_data"),
           lambda: json_of(MATRIX), read_matrix,
           found=(b"version: 1\naxes: {model: gpt2, batch_size: [1:30, 010]}",
                  b'{"version": 1, "axes": {"model": "\\ud800"}}')),
    Reader("hosts", ("orchestrator.fleet.hosts_file",), lambda: json_of(HOSTS), read_hosts),
    Reader("frames", ("orchestrator.fleet.messages",), frames, read_frames),
    Reader("--set", (), lambda: damaged(b"[1, 2, 4]") | documents(7), read_override),
    Reader("models", ("orchestrator.matrix.model_files",),
           lambda: json_of([MODEL, PRETRAINED]), read_model_file),
    Reader("config.json", ("orchestrator.matrix.model_folder",),
           lambda: json_of(BERT | {"architectures": ["BertForMaskedLM"]}), read_model_config,
           found=(b"[" * 100_000, b'{"a":' * 900 + b"1" + b"}" * 900,
                  b'{"model_type": "bert", "architectures": {"a": 1}}',
                  b'{"model_type": "roberta", "max_position_embeddings": "x", "vocab_size": 9}',
                  b'{"model_type": "bert", "vocab_size": 1' + b"0" * 400 + b"}",
                  b'{"model_type": "clip", "architectures": ["CLIPModel"], "text_config": [5]}',
                  b'{"model_type": "bert", "auto_map": {"AutoModel": {"a": ["b.c"]}}}',
                  b'{"model_type": "bert", "quantization_config": {"quant_method": {}}}',
                  b'{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], '
                  b'"vocab_size": 9, "n_layer": "x", "n_embd": [], "n_head": 1e300}',
                  b'{"model_type": "whisper", "num_mel_bins": 1000000000000, '
                  b'"max_source_positions": 1000000000000, "vocab_size": 9}')),
    Reader("safetensors", ("orchestrator.system.weights",),
           lambda: damaged(some_weights()), read_weights),
    Reader("record", ("orchestrator.store.records.validate", "orchestrator.store.merge.staging"),
           record_tables, read_record_file),
    Reader("merged file", ("orchestrator.store.merge.merge", "orchestrator.store.records.compact",
                           "orchestrator.system.parquet"),
           record_tables, read_merged, fast=2),
    Reader("compacted file", ("orchestrator.running.record_files",),
           record_tables, read_compacted),
    Reader("import's records", ("orchestrator.exchange.imports.record",),
           record_tables, read_imported),
    Reader("kept records", ("orchestrator.store.records.kept",), record_tables, read_kept),
    Reader("known steps", ("orchestrator.store.records.kept",),
           lambda: json_of([["r/c", "r", "c", "why", "2026-11-28 12:00:00+00", None]]),
           read_decisions),
    Reader("packed imports", ("orchestrator.exchange.imports.record",), record_tables, read_packed),
    Reader("part", ("runner.contract.rounds",),
           lambda: json_of(json.loads(a_round().model_dump_json())), read_part),
    Reader("job", ("orchestrator.running.job_files",),
           lambda: json_of(json.loads(a_job().model_dump_json())), read_job),
    Reader("run.json", ("orchestrator.running.run_file", "orchestrator.running.folder"),
           lambda: json_of(json.loads(a_run_file())), read_run, fast=8),
    Reader("calibration", ("orchestrator.running.calibration",),
           lambda: json_of(CALIBRATION), read_calibration,
           found=(b'{"hosts": {"here": {"a": {"cv": 1e999, "processes": 8,'
                  b' "measured_at": "2026-11-23T00:00:00Z"}}}}',)),
    Reader("progress", ("orchestrator.running.launch",),
           lambda: json_of(EVENT), read_progress, fast=8,
           found=(b"[" * 200_000, b'{"event": [], "cell_id": 1}', b'{"event": {}, "cell_id": []}')),
    Reader("bundle",
           ("orchestrator.exchange.bundles.archive", "orchestrator.exchange.bundles.check"),
           bundles, read_bundle, fast=8),
    Reader("JSON to import", ("orchestrator.exchange.imports.document",),
           lambda: json_of(COLLECTION) | json_of(TOP), read_import("results.json")),
    Reader("CSV to import", (), lambda: damaged(TABLE.encode()), read_import("results.csv")),
    Reader("text to import", (), lambda: damaged(MLPERF), read_import("mlperf_log_summary.txt")),
    Reader("mapping", ("orchestrator.exchange.imports.formats.mapping",),
           lambda: json_of(MAPPING), read_mapped),
    Reader("verification", ("orchestrator.commands.measure.verification",),
           lambda: json_of(json.loads(a_verification(a_cell()).model_dump_json())),
           read_kept_verification),
    Reader("snapshot", ("orchestrator.store.health.snapshots",),
           lambda: json_of(MANIFEST), read_snapshot),
    Reader("sent graph", ("orchestrator.fleet.shared_artifacts",), graph_archives,
           read_sent_graph),
    Reader("reference", ("orchestrator.running.artifacts.cache",),
           lambda: damaged(a_reference()), read_reference),
    Reader("graph", ("runner.contract.graph",),
           lambda: json_of(json.loads(a_graph({}).model_dump_json())), read_prepared_graph),
    Reader("prices", ("orchestrator.commands.recommend.prices",),
           lambda: json_of(PRICES), read_price_list,
           found=(b'{"currency": "EUR", "backends": {"cpu": {"per_hour": 1e999}}}',)),
    Reader("predictor", (), predictors, read_predictor, fast=3),
    Reader("evaluation", (), evaluations, read_evaluation, fast=3),
    Reader("counts", ("runner.contract.models.counted",),
           lambda: json_of(COUNTED), read_counted_work,
           found=(json.dumps(COUNTED).replace("2.5", "1e400").encode(),
                  json.dumps(COUNTED).replace("batch_size", "image_size").encode())),
)  # fmt: skip
