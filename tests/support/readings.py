"""How each reader is asked about a file: as its command does, and nothing more."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from math import prod
from pathlib import Path
from queue import Queue

from analysis.predict.explanation import explanation_of
from analysis.report.predictions import DescribedPredictor, prediction_report
from orchestrator.commands.measure.plan import PlanReport
from orchestrator.commands.measure.verification import load_verification
from orchestrator.commands.predict.stored_predictor import (
    StoredPredictor,
    kept_evaluation,
    open_predictor,
)
from orchestrator.commands.recommend.prices import read_prices
from orchestrator.commands.report.page import report_page
from orchestrator.exchange.bundles.check import open_bundle
from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.formats.mapping import MappedFormat
from orchestrator.exchange.imports.outcome import read_document
from orchestrator.exchange.imports.record import read_contents, read_runs, records_table, take_out
from orchestrator.fleet.hosts_file import read_hosts_file
from orchestrator.fleet.messages import Shared, message_to_driver, message_to_host, read_frame
from orchestrator.fleet.shared_artifacts import keep_artifact
from orchestrator.fleet.transports.commands import srun_command, ssh_command
from orchestrator.launchers.base import Exit
from orchestrator.matrix import Matrix, Source, load_matrix, resolve
from orchestrator.matrix.load import override
from orchestrator.planning.plan import make_plan
from orchestrator.running.artifacts.cache import is_reference
from orchestrator.running.calibration import CALIBRATION_NAME, read_spreads
from orchestrator.running.execute_job import JobExecution, LaunchContext
from orchestrator.running.folder import RunFolder
from orchestrator.running.job_files import JobFiles
from orchestrator.running.record_files import CompactedRecords
from orchestrator.store.health.decisions import bind_predictor
from orchestrator.store.health.rebuild import begin_rebuild, drop_rebuild
from orchestrator.store.health.snapshots import read_manifest
from orchestrator.store.records.kept import drop_kept, kept_folder
from orchestrator.store.records.validate import file_fault, read_record
from orchestrator.store.store import Store
from orchestrator.system.files import predictor_folder
from runner.contract.artifact_keys import COUNTS, fingerprint
from runner.contract.errors import BenchError
from runner.contract.graph import DYNAMIC, GRAPH_FILE, read_graph
from runner.contract.job import Job
from runner.contract.models.counted import COUNTS_FILE, read_counted
from runner.contract.models.work import counts_of
from runner.contract.rounds import read_rounds, round_path
from tests.analysis.predict.examples import a_placement
from tests.support.fakes import KeptObserver, ScriptedLauncher
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.records import RECORDED_AT, a_record, cell_of
from tests.support.runs import a_run_folder
from tests.support.weights import a_weights_folder

BUG = 70
CALIBRATED_HOST = "here"
MATRIX = {
    "version": 1,
    "axes": {"model": ["bert-tiny", "gpt2"], "batch_size": [1, 8], "mode": "inference"},
    "include": [{"model": "bert-tiny", "precision": "bf16"}],
    "exclude": [{"model": "gpt2", "batch_size": 8}],
    "backends": {"cpu": {"axes": {"precision": ["fp32"]}, "limits": {"memory": "8GiB"}}},
    "measure": {"profile": "quick", "max_duration": "90s", "precision_target": "2%"},
    "limits": {"cell_timeout": "20m", "cpus": 2, "pids": 100},
}
PRETRAINED = {
    "name": "ours",
    "family": "embedding",
    "modality": "text",
    "weights": "pretrained",
    "path": "weights",
}
MOST_CELLS = 500


@contextmanager
def refusals() -> Iterator[None]:
    """Lets errors pass that a user can act on; `BenchError` alone has the code of a bug."""
    try:
        yield
    except BenchError as error:
        assert error.exit_code != BUG, repr(error)  # noqa: PT017 - raised or not, both are right


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def planned(matrix: Matrix) -> None:
    """Plan the matrix, if it is small, and write the plan as a run does."""
    products = matrix.products()
    if sum(prod(map(len, lists.values())) for lists in products) <= MOST_CELLS:
        plan = make_plan(matrix)
        report = PlanReport(plan, ())
        report.sums()
        plan.model_dump_json()
        json.dumps(list(report.cells()))


def read_matrix(folder: Path, content: bytes) -> None:
    with refusals():
        planned(load_matrix(written(folder, "matrix.yaml", content)))
    planned(load_matrix(written(folder, "matrix.json", content)))


def read_hosts(folder: Path, content: bytes) -> None:
    for host in read_hosts_file(written(folder, "hosts.yaml", content)):
        assert ssh_command(host) if host.transport == "ssh" else srun_command(host)


def read_frames(folder: Path, content: bytes) -> None:
    del folder
    stream = BytesIO(content)
    with refusals():
        while frame := read_frame(stream):
            with refusals():
                message_to_driver(frame)
            message_to_host(frame)


def read_override(folder: Path, content: bytes) -> None:
    text = content.decode("utf-8", "surrogateescape")
    for path in ("axes.batch_size", "axes", "limits.cpus", "measure.min_duration"):
        with refusals():
            planned(resolve(override(Source("matrix.yaml", MATRIX), [f"{path}={text}"])))


def read_model_file(folder: Path, content: bytes) -> None:
    written(folder, "models.json", content)
    axes = {"model": "models.json", "mode": ["inference", "generation", "training"]}
    matrix = json.dumps({"version": 1, "axes": axes}).encode()
    planned(load_matrix(written(folder, "matrix.json", matrix)))


def read_model_config(folder: Path, content: bytes) -> None:
    a_weights_folder(folder / "weights")
    written(folder, "weights/config.json", content)
    vision = {"name": "seeing", "family": "vision", "modality": "image"}
    for entry in (PRETRAINED, PRETRAINED | vision):
        with refusals():
            read_model_file(folder, json.dumps([entry]).encode())
    named = {"version": 1, "axes": {"model": "./weights", "mode": ["inference", "training"]}}
    with refusals():
        planned(resolve(Source("matrix", named, folder)))
    (folder / "weights/model.safetensors").unlink()
    with refusals():
        planned(resolve(Source("matrix", named, folder)))


def read_weights(folder: Path, content: bytes) -> None:
    a_weights_folder(folder / "weights")
    written(folder, "weights/model.safetensors", content)
    read_model_file(folder, json.dumps([PRETRAINED]).encode())


def read_calibration(folder: Path, content: bytes) -> None:
    written(folder, CALIBRATION_NAME, content)
    for key, spread in read_spreads(folder, CALIBRATED_HOST).items():
        job = a_job([fake_cell()]).model_copy(update={"process_spreads": {key: spread}})
        assert Job.model_validate_json(job.model_dump_json()) == job


def read_price_list(folder: Path, content: bytes) -> None:
    prices = read_prices(written(folder, "prices.yaml", content))
    assert all(price.per_hour > 0 for price in prices.hardware.values())


def read_import(name: str) -> Callable[[Path, bytes], object]:
    def read(folder: Path, content: bytes) -> object:
        outcome = read_document(Document(folder / name, content), FORMATS)
        assert outcome.summary
        return records_table(outcome, RECORDED_AT)

    return read


def read_mapped(folder: Path, content: bytes) -> None:
    format_ = MappedFormat.load(written(folder, "mapping.yaml", content))
    rows = json.dumps({"results": [{"net": "a", "ms": 5}]}).encode()
    records_table(read_document(Document(folder / "r.json", rows), [format_]), RECORDED_AT)


def read_run(folder: Path, content: bytes) -> None:
    run = a_run_folder(folder)
    written(run.path, "run.json", content)
    RunFolder.open(folder, run.run.run_id).verdicts()


def read_part(folder: Path, content: bytes) -> None:
    written(folder, round_path(Path(), fake_cell(), 1).name, content)
    read_rounds(folder, fake_cell(), 1)


def read_job(folder: Path, content: bytes) -> None:
    job = a_job()
    written(folder, f"{job.id}.1.json", content)
    JobFiles(folder).launched(job.id)


def read_progress(folder: Path, content: bytes) -> None:
    def talk(job: Job, out: Path, lines: Queue[str | None]) -> Exit:
        for line in content.decode("utf-8", "replace").splitlines():
            lines.put(line)
        lines.put(None)
        return Exit(0, out_of_memory=False, log="")

    job = a_job()
    context = LaunchContext(ScriptedLauncher(talk), a_run_folder(folder), KeptObserver())
    JobExecution(job, context).execute()


def read_record_file(folder: Path, content: bytes) -> None:
    path = written(folder, "record.parquet", content)
    fault = file_fault(path)
    assert fault is None or "\n" not in fault
    read_record(path)


def read_merged(folder: Path, content: bytes) -> None:
    path = written(folder, "record.parquet", content)
    with Store.open(written(folder, "b.duckdb", empty_database())) as store:
        store.merge([path])
        store.merge([path])


def read_compacted(folder: Path, content: bytes) -> None:
    written(folder, f"compact-{'0' * 8}.parquet", content)
    whole = a_record()
    cell = cell_of(vars(whole))
    compacted = CompactedRecords(folder, whole.run_id)
    compacted.record(cell)
    compacted.unpack([cell])


def read_imported(folder: Path, content: bytes) -> None:
    path = written(folder, "imports/import-x.parquet", content)
    read_contents(path)
    read_runs([path])


def read_packed(folder: Path, content: bytes) -> None:
    read_runs([written(folder, "imports/packed.parquet", content)])
    take_out(folder, "import-x")


def read_kept(folder: Path, content: bytes) -> None:
    database = folder / "b.duckdb"
    read_runs([written(kept_folder(database), "a.parquet", content)])
    drop_kept(database, ["run-1"])


def read_decisions(folder: Path, content: bytes) -> None:
    database = folder / "b.duckdb"
    written(kept_folder(database), "accepted_changes.json", content)
    drop_rebuild(begin_rebuild(database, scratch=False))


def read_snapshot(folder: Path, content: bytes) -> None:
    written(folder, "manifest.json", content)
    read_manifest(folder)


def read_kept_verification(folder: Path, content: bytes) -> None:
    load_verification(written(folder, "verification.json", content))


def read_prepared_graph(folder: Path, content: bytes) -> None:
    written(folder, GRAPH_FILE, content)
    read_graph(folder)


def read_sent_graph(folder: Path, content: bytes) -> None:
    """Keep it as a driver's host does."""
    keep_artifact(folder, Shared(folder="graphs", path=("key", DYNAMIC)), content)


def read_counted_work(folder: Path, content: bytes) -> None:
    model = fake_model()
    counted = read_counted(written(folder, COUNTS_FILE, content), model, fingerprint(COUNTS))
    for batch_size in (1, 1 << 40) if counted.polynomials else ():
        counts_of(model, fake_cell(batch_size), counted.polynomials)


def opened_predictor(folder: Path, content: bytes) -> StoredPredictor:
    """The predictor of a database that trained those of these files which it knows."""
    files = json.loads(content)
    database = written(folder, "b.duckdb", empty_database())
    for name, text in files["found"].items():
        written(predictor_folder(database), name, text.encode("utf-8", "surrogatepass"))
    bind_predictor(database, files["digest"])
    with Store.open_readonly(database) as store:
        return open_predictor(database, store)


def read_predictor(folder: Path, content: bytes) -> None:
    """Ask it everything, its trees included."""
    forecaster = opened_predictor(folder, content).forecaster()
    questions = [a_placement("net-1", "big", 6), a_placement("net-9", "other", 4)]
    for predictor in forecaster.predictors.values():
        predictor.predict(questions)
        for question in questions:
            explanation_of(predictor, question)


def read_evaluation(folder: Path, content: bytes) -> None:
    """Make the page that shows it; its predictor is sound."""
    predictor = opened_predictor(folder, content)
    forecaster = predictor.forecaster()
    described = DescribedPredictor(
        database="b.duckdb",
        manifest=predictor.manifest,
        machines=forecaster.machines,
        domains={name: one.domain for name, one in forecaster.predictors.items()},
        evaluation=kept_evaluation(predictor),
        evaluation_command="evaluate",
    )
    report_page(prediction_report(described), made_from="b.duckdb")


def read_reference(folder: Path, content: bytes) -> None:
    is_reference(written(folder, "key.npz", content))


def read_bundle(folder: Path, content: bytes) -> None:
    with open_bundle(written(folder, "bundle.zip", content)) as bundle:
        assert (bundle.manifest is None) == bool(bundle.faults)


@cache
def empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        with Store.open(Path(name) / "b.duckdb"):
            pass
        return (Path(name) / "b.duckdb").read_bytes()
