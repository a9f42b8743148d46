"""The files of a predictor: written by name, and read as far as a question needs them."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, get_type_hints

from analysis.prediction.artefact.codec import decoded, encoded
from analysis.prediction.artefact.json_text import parsed, written
from analysis.prediction.artefact.manifest import (
    ARTEFACT_VERSION,
    MANIFEST_NAME,
    NoveltyErrors,
    PredictorManifest,
    Sources,
    TargetFacts,
)
from analysis.prediction.artefact.tree_text import require_trees
from analysis.prediction.calibrated import CalibratedTrees
from analysis.prediction.effects import GROUPS
from analysis.prediction.features import FEATURES
from analysis.prediction.forecaster import Forecaster, KnownMachine
from analysis.prediction.novelty import Novelty
from analysis.prediction.predictor import TargetPredictor
from analysis.prediction.targets import PREDICTION_TARGETS
from analysis.prediction.tree_columns import TreeColumns
from analysis.prediction.trees import Trees
from runner.contract.errors import DamagedFile

ReadFile = Callable[[str], str]
"""Gives the text of a file of this name; it raises `OSError` or `DamagedFile`."""
_MACHINES = "machines.json"
_TREES = ("trees", "spread")
"""The fields of calibrated trees that are files of LightGBM."""


@dataclass(frozen=True)
class TrainingOrigin:
    """The results that a predictor was trained on, and the program that did it."""

    accelmatrix: str
    schema_version: int
    trained_at: datetime
    database: str
    sources: Sources
    rows: Mapping[str, int]
    rows_digest: str
    left_out: Mapping[str, int]


def predictor_files(forecaster: Forecaster, origin: TrainingOrigin) -> dict[str, str]:
    """The text of each file by its name; the manifest, which vouches for all others, is last."""
    files = {_MACHINES: written(encoded(tuple[KnownMachine, ...], forecaster.machines))}
    for predictor in forecaster.predictors.values():
        files |= _target_files(predictor)
    manifest = PredictorManifest(
        version=ARTEFACT_VERSION,
        **vars(origin),
        columns=_columns(),
        targets={name: _facts(one) for name, one in forecaster.predictors.items()},
        files={name: _digest(text) for name, text in files.items()},
    )
    return {**files, MANIFEST_NAME: manifest.model_dump_json(indent=1) + "\n"}


def read_forecaster(
    manifest: PredictorManifest, read: ReadFile, targets: Sequence[str] | None = None
) -> Forecaster:
    """The forecaster in these files.

    Args:
        manifest: their manifest.
        read: gives the text of a file.
        targets: those that will be predicted; None for all that it knows. Files of others are
            not read, and trees not before a question needs them.

    Raises:
        DamagedFile: a file is missing or altered, or was fitted with other features.
    """
    if tuple(manifest.columns) != _columns():
        raise DamagedFile("it was fitted with the features of another version of AccelMatrix")
    reader = _Reader(manifest, read)
    wanted = [name for name in manifest.targets if targets is None or name in targets]
    return Forecaster(
        predictors={name: _target(name, reader) for name in wanted},
        machines=_machines(reader),
    )


@dataclass(frozen=True)
class _Reader:
    manifest: PredictorManifest
    read: ReadFile

    def text(self, name: str) -> str:
        """The text of a file, which must be what the manifest says."""
        digest = self.manifest.files.get(name)
        if digest is None:
            raise DamagedFile(f"{MANIFEST_NAME} does not name {name}")
        try:
            text = self.read(name)
        except FileNotFoundError as error:
            raise DamagedFile(f"{name} is missing") from error
        if _digest(text) != digest:
            raise DamagedFile(f"{name} is not what {MANIFEST_NAME} says")
        return text

    def data(self, name: str) -> Any:
        """The JSON in a file."""
        with _in_file(name):
            return parsed(self.text(name))


class _StoredTrees(Mapping[Novelty, CalibratedTrees]):
    """Trees by novelty, each read when it is needed first."""

    def __init__(
        self, target: str, names: Sequence[Novelty], columns: TreeColumns, reader: _Reader
    ) -> None:
        self._target, self._names, self._reader = target, names, reader
        self._columns = columns
        self._read: dict[Novelty, CalibratedTrees] = {}

    def __getitem__(self, novelty: Novelty) -> CalibratedTrees:
        if novelty not in self._names:
            raise KeyError(novelty)
        if novelty not in self._read:
            self._read[novelty] = _calibrated(self._target, novelty, self._columns, self._reader)
        return self._read[novelty]

    def __contains__(self, novelty: object) -> bool:
        return novelty in self._names

    def __iter__(self) -> Iterator[Novelty]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@contextmanager
def _in_file(name: str) -> Iterator[None]:
    """Name the file in which a value is wrong.

    Raises:
        DamagedFile: a value is wrong.
    """
    try:
        yield
    except ValueError as error:
        raise DamagedFile(f"{name}: {error}") from error


def _columns() -> tuple[str, ...]:
    slopes = (
        f"{chosen}, {name}: {', '.join(group.slopes)}"
        for chosen, groups in GROUPS.items()
        for name, group in groups.items()
    )
    return (*FEATURES, *slopes)


def _facts(predictor: TargetPredictor) -> TargetFacts:
    errors = {
        novelty: NoveltyErrors(
            examples=trees.errors, groups=trees.groups, median_error=trees.median_error
        )
        for novelty, trees in predictor.trees.items()
    }
    return TargetFacts(examples=dict(predictor.examples), errors=errors)


def _target_files(predictor: TargetPredictor) -> dict[str, str]:
    name, types = predictor.target.name, _types(TargetPredictor, {"trees"})
    data = {field: encoded(kind, getattr(predictor, field)) for field, kind in types.items()}
    files = {f"{name}.json": written({**data, "trees": [*predictor.trees]})}
    for novelty, calibrated in predictor.trees.items():
        stem, kinds = f"{name}-{novelty}", _types(CalibratedTrees, set(_TREES))
        texts = {
            f"{stem}-{field}.txt": trees.text
            for field in _TREES
            if (trees := getattr(calibrated, field)) is not None
        }
        facts = {field: encoded(kind, getattr(calibrated, field)) for field, kind in kinds.items()}
        files |= {f"{stem}.json": written(facts), **texts}
    return files


def _target(name: str, reader: _Reader) -> TargetPredictor:
    if name not in PREDICTION_TARGETS:
        raise DamagedFile(f"{MANIFEST_NAME}: {name!r:.80} is no target")
    file = f"{name}.json"
    data = reader.data(file)
    with _in_file(file):
        if not isinstance(data, dict):
            raise ValueError("is no table of values")
        novelties = decoded(tuple[Novelty, ...], data.pop("trees", None), "trees")
        types = _types(TargetPredictor, {"trees"})
        if data.keys() != types.keys():
            raise ValueError("has other fields than it should")
        values = {field: decoded(kind, data[field], field) for field, kind in types.items()}
    return TargetPredictor(**values, trees=_StoredTrees(name, novelties, values["columns"], reader))


def _calibrated(
    target: str, novelty: Novelty, columns: TreeColumns, reader: _Reader
) -> CalibratedTrees:
    stem = f"{target}-{novelty}"
    file = f"{stem}.json"
    data, types = reader.data(file), _types(CalibratedTrees, set(_TREES))
    with _in_file(file):
        if not isinstance(data, dict) or data.keys() != types.keys():
            raise ValueError("has other fields than it should")
        facts = {field: decoded(kind, data[field], field) for field, kind in types.items()}
        if facts["novelty"] != novelty:
            raise ValueError(f"is of novelty {facts['novelty']}")
    number = len(columns.names(novelty))
    for field in _TREES:
        facts[field] = _trees(f"{stem}-{field}.txt", number, reader)
    return CalibratedTrees(**facts)


def _trees(file: str, columns: int, reader: _Reader) -> Trees | None:
    if file not in reader.manifest.files:
        return None
    text = reader.text(file)
    with _in_file(file):
        require_trees(text, columns)
    return Trees(text)


def _machines(reader: _Reader) -> tuple[KnownMachine, ...]:
    data = reader.data(_MACHINES)
    with _in_file(_MACHINES):
        machines: tuple[KnownMachine, ...] = decoded(tuple[KnownMachine, ...], data, "machines")
    return machines


def _types(kind: Any, without: set[str]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.name not in without}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
