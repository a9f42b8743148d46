"""The cells that the synthetic laboratory measures, with what each of them takes."""

import math
from collections.abc import Iterator
from itertools import product

from performance.synthetic.laboratory import PATHS, Path, Row
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.job import PROFILES, Job, Limits, Provenance
from runner.contract.models import ModelSpec, find
from runner.contract.record.ids import digest
from runner.contract.record.record import CONTENT_FIELDS

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
NEW_TOKENS = 4
RUN, HOST, DIGEST, COMMIT = "the-run-of-the-sample", "@host", f"sha256:{'d' * 64}", "@commit"
"""Placeholders in a job for values that differ from run to run."""
_TEXT = tuple({"sequence_length": length} for length in (32, 64, 128, 256, 512))
_SOUND = tuple({"audio_seconds": seconds} for seconds in (1, 5, 10))
_IMAGE = tuple({"image_size": pixels} for pixels in (320, 800))
_MODELS: dict[str, tuple[float, tuple[dict[str, int], ...]]] = {
    "bert-tiny": (2.4, _TEXT),
    "bert-base-uncased": (48.0, _TEXT),
    "gpt2": (61.0, _TEXT),
    "qwen2-0.5b": (260.0, _TEXT),
    "vit-tiny": (19.0, ({},)),
    "vit-base": (130.0, ({},)),
    "detr-resnet-50": (420.0, _IMAGE),
    "whisper-tiny": (150.0, ({},)),
    "wav2vec2-base-960h": (33.0, _SOUND),
    "clip-vit-base-patch32": (75.0, ({"sequence_length": 77},)),
}
"""Milliseconds of one fp32 sample at 128 tokens, 224 pixels or a second, and the sizes."""
_FASTER: dict[Precision, float] = {"fp32": 1.0, "bf16": 1.3, "fp16": 1.8, "int8": 2.1}
_BYTES: dict[Precision, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}
_REFERENCE_SIZE = {"sequence_length": 128, "image_size": 224, "audio_seconds": 1}
_RUNTIME_BYTES = 180_000_000
_PROFILE = PROFILES["quick"].model_copy(update={"iterations": 50})


def cells() -> list[Row]:
    """Each cell with its model's facts, its nominal duration and memory, and its job."""
    described = [_described(cell, path) for path in PATHS for cell in _cells_of(path)]
    return [{"cell": number, **row} for number, row in enumerate(described)]


def _cells_of(path: Path) -> Iterator[Cell]:
    for name, (_, every_size) in _MODELS.items():
        for precision, sizes in product(path.precisions, every_size):
            for batch_size in BATCHES:
                yield from _in_modes(path, name, precision, {**sizes, "batch_size": batch_size})


def _in_modes(
    path: Path, model: str, precision: Precision, sizes: dict[str, int]
) -> Iterator[Cell]:
    base = {
        "model": model,
        "backend": path.backend,
        "runtime": path.runtime,
        "precision": precision,
        "sequence_length": None,
        **sizes,
    }
    yield Cell.model_validate({**base, "mode": "inference"})
    if find(model).family == "text_generation" and sizes["batch_size"] <= 8:
        yield Cell.model_validate({**base, "mode": "generation", "new_tokens": NEW_TOKENS})
    if sizes["batch_size"] == 1 and sizes.items() >= _MODELS[model][1][0].items():
        yield Cell.model_validate({**base, "mode": "startup"})
        yield Cell.model_validate({**base, "mode": "inference", "scenario": "offline"})
        yield Cell.model_validate(
            {**base, "mode": "inference", "scenario": "server", "target_qps": 2.0}
        )
    if path.runtime == "torch" and sizes["batch_size"] == 8:
        mixed = {"training_precision": "mixed"} if precision == "bf16" else {}
        yield Cell.model_validate({**base, "mode": "training", **mixed})


def _described(cell: Cell, path: Path) -> Row:
    spec = find(cell.model)
    text = spec.content
    return {
        **cell.model_dump(),
        "batch_size": 16 if cell.scenario == "offline" else cell.batch_size,
        "cell_id": cell.id,
        "job_id": cell.job_id,
        "family": spec.family,
        "task": spec.task,
        "modality": spec.modality,
        "parameters": spec.parameters,
        "model_id": digest(text),
        "model_spec": text,
        "job": _job(cell, spec),
        "path": PATHS.index(path),
        "accelerated": path.accelerated,
        "nominal_ns": _nominal_ms(cell, path) * 1e6,
        "memory_bytes": _memory_bytes(cell, spec),
        "refusal": _refusal(cell),
    }


def _job(cell: Cell, spec: ModelSpec) -> str:
    provenance = Provenance(
        launcher="docker",
        image=f"accelmatrix-{cell.backend}:0.1.0",
        image_digest=DIGEST,
        hostname=HOST,
        git_commit=COMMIT,
        orchestrator_version="0.1.0",
    )
    return Job(
        run_id=RUN,
        id=cell.job_id,
        model=spec,
        cells=(cell,),
        measure=_PROFILE,
        limits=Limits(),
        seed=0,
        provenance=provenance,
    ).model_dump_json(exclude={"model": CONTENT_FIELDS})


def _share(cell: Cell) -> float:
    """The sample's size by the one that the model's milliseconds are for."""
    sizes = cell.model_dump(include=set(_REFERENCE_SIZE))
    return max((size / _REFERENCE_SIZE[name] for name, size in sizes.items() if size), default=1.0)


def _nominal_ms(cell: Cell, path: Path) -> float:
    sample_ms: float = _MODELS[cell.model][0] * math.pow(_share(cell), 1.1)
    queries = {"inference": 1.0, "generation": 1.0 + 0.4 * NEW_TOKENS, "training": 3.1}
    if cell.mode == "startup":
        return 900.0 + 14.0 * sample_ms
    batch = 16 if cell.scenario == "offline" else cell.batch_size
    work_ms = sample_ms * math.pow(batch, 0.93) * queries[cell.mode]
    return path.floor_ms + work_ms / path.speed / _FASTER[cell.precision]


def _memory_bytes(cell: Cell, spec: ModelSpec) -> int:
    weights = (spec.parameters or 0) * _BYTES[cell.precision]
    activations = 3_000_000 * cell.batch_size * _share(cell) * _MODELS[cell.model][0] ** 0.5
    training = 3 * weights + 4 * activations if cell.mode == "training" else 0
    return int(_RUNTIME_BYTES + weights + activations + training)


def _refusal(cell: Cell) -> str | None:
    if cell.precision == "int8" and cell.model in {"whisper-tiny", "detr-resnet-50"}:
        return f"int8 is not possible with {cell.model} on {cell.runtime}"
    if cell.mode == "startup" and cell.runtime == "onnxruntime" and cell.backend == "cuda":
        return "a cold start of onnxruntime is measured on the CPU alone"
    return None
