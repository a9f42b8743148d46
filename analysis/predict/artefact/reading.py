"""A predictor read from its files, as far as a question needs them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from analysis.predict.artefact.codec import decoded
from analysis.predict.artefact.files import (
    MACHINES_NAME,
    TREE_FIELDS,
    expectation_file,
    field_types,
    fitted_columns,
    text_digest,
)
from analysis.predict.artefact.json_text import of_type, parsed
from analysis.predict.artefact.manifest import (
    MANIFEST_NAME,
    PredictorManifest,
)
from analysis.predict.artefact.tree_text import require_trees
from analysis.predict.calibrated import CalibratedTrees
from analysis.predict.effects import GROUPS, EffectSet
from analysis.predict.examples.placements import Counts, Device, KnownMachine, Placement
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.expectation import Expectation
from analysis.predict.forecaster import Forecaster
from analysis.predict.novelty import Novelty
from analysis.predict.predictor import TargetPredictor
from analysis.predict.tree_columns import TreeColumns
from analysis.predict.trees import Trees
from runner.contract.errors import DamagedFile, StoreError

ReadFile = Callable[[str], str]
"""Gives the text of a file of this name; it raises `OSError` or `DamagedFile`."""
Refuse = Callable[[str], StoreError]
"""Makes the error that says what is wrong."""


def read_forecaster(
    manifest: PredictorManifest,
    read: ReadFile,
    targets: Sequence[str] | None = None,
    refuse: Refuse = DamagedFile,
) -> Forecaster:
    """The forecaster in these files.

    Args:
        manifest: their manifest.
        read: gives the text of a file.
        targets: those that will be predicted; None for all that it knows. Files of others are
            not read, and expectations and trees not before a question needs them.
        refuse: makes the error of a file that is missing, altered or wrong, then or later.

    Raises:
        StoreError: a file is missing or altered, or was fitted with other features.
    """
    if tuple(manifest.columns) != fitted_columns():
        raise refuse("it was fitted with the features of another version of AccelMatrix")
    reader = _Reader(manifest, read, refuse)
    wanted = [name for name in manifest.targets if targets is None or name in targets]
    return Forecaster(
        predictors={name: _target(name, reader) for name in wanted},
        machines=_machines(reader),
    )


@dataclass(frozen=True)
class _Reader:
    manifest: PredictorManifest
    read: ReadFile
    refuse: Refuse

    def text(self, name: str) -> str:
        """The text of a file, which must be what the manifest says."""
        digest = self.manifest.files.get(name)
        if digest is None:
            raise self.refuse(f"{MANIFEST_NAME} does not name {name}")
        try:
            text = self.read(name)
        except FileNotFoundError as error:
            raise self.refuse(f"{name} is missing") from error
        except DamagedFile as damaged:
            raise self.refuse(str(damaged)) from damaged
        if text_digest(text) != digest:
            raise self.refuse(f"{name} is not what {MANIFEST_NAME} says")
        return text

    def record(self, name: str, kind: Any, without: Sequence[str] = ()) -> dict[str, Any]:
        """The values of a class in a file, by field; those of `without` as JSON has them."""
        with self.file(name):
            data = of_type(dict, parsed(self.text(name)), "it")
            types = field_types(kind)
            if data.keys() != types.keys():
                differing = ", ".join(sorted(data.keys() ^ types.keys()))
                raise ValueError(f"has other fields than it should: {differing}")
            return {
                field: data[field]
                if field in without
                else decoded(types[field], data[field], field)
                for field in types
            }

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Name the file in which a value is wrong."""
        try:
            yield
        except ValueError as error:
            raise self.refuse(f"{name}: {error}") from error

    @contextmanager
    def probe(self, name: str) -> Iterator[None]:
        """Refuse a file whose values fail to predict a usual placement."""
        try:
            yield
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as error:
            raise self.refuse(f"{name}: its values do not fit together") from error


_Name = TypeVar("_Name", bound=str)
_Part = TypeVar("_Part")


class _Parts(Mapping[_Name, _Part]):
    """Parts of a predictor by name, each read when it is needed first."""

    def __init__(self, names: Sequence[_Name], read: Callable[[_Name], _Part]) -> None:
        self._names, self._read = names, read
        self._known: dict[_Name, _Part] = {}

    def __getitem__(self, name: _Name) -> _Part:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[_Name]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _target(name: str, reader: _Reader) -> TargetPredictor:
    if name not in PREDICTION_TARGETS:
        raise reader.refuse(f"{MANIFEST_NAME}: {name!r:.80} is no target")
    file = f"{name}.json"
    values = reader.record(file, TargetPredictor, ("expectations", "trees"))
    with reader.file(file):
        novelties = decoded(tuple[Novelty, ...], values["trees"], "trees")
        chosen = decoded(tuple[EffectSet, ...], values["expectations"], "expectations")
        if {*chosen} != {*GROUPS}:
            raise ValueError(f"has expectations {', '.join(chosen)}, not {', '.join(GROUPS)}")
    with reader.probe(file):
        values["domain"].refusals([_PROBE])
        values["domain"].outside([_PROBE])
    columns: TreeColumns = values["columns"]
    parts = {
        "expectations": _Parts(chosen, lambda one: _expectation(name, one, reader)),
        "trees": _Parts(novelties, lambda one: _calibrated(name, one, columns, reader)),
    }
    return TargetPredictor(**{**values, **parts})


def _expectation(target: str, chosen: EffectSet, reader: _Reader) -> Expectation:
    file = expectation_file(target, chosen)
    expectation = Expectation(**reader.record(file, Expectation))
    with reader.file(file):
        if expectation.effects.chosen != chosen:
            raise ValueError(f"holds effects {expectation.effects.chosen}")
        for name, group in GROUPS[chosen].items():
            rows = expectation.effects.levels.get(name, {}).values()
            if any(len(row) != 1 + len(group.slopes) for row in islice(rows, 1)):
                raise ValueError(f"effects of {name} have other slopes")
    with reader.probe(file):
        expectation.at([_PROBE])
    return expectation


def _calibrated(
    target: str, novelty: Novelty, columns: TreeColumns, reader: _Reader
) -> CalibratedTrees:
    stem = f"{target}-{novelty}"
    values = reader.record(f"{stem}.json", CalibratedTrees, TREE_FIELDS)
    with reader.file(f"{stem}.json"):
        if values["novelty"] != novelty:
            raise ValueError(f"is of novelty {values['novelty']}")
    number = len(columns.names(novelty))
    for field in TREE_FIELDS:
        values[field] = _trees(f"{stem}-{field}.txt", number, reader)
    return CalibratedTrees(**values)


def _trees(file: str, columns: int, reader: _Reader) -> Trees | None:
    if file not in reader.manifest.files:
        return None
    text = reader.text(file)
    with reader.file(file):
        require_trees(text, columns)
        trees = Trees(text)
        trees.require_readable(columns)
    return trees


def _machines(reader: _Reader) -> tuple[KnownMachine, ...]:
    with reader.file(MACHINES_NAME):
        data = parsed(reader.text(MACHINES_NAME))
        machines: tuple[KnownMachine, ...] = decoded(tuple[KnownMachine, ...], data, "machines")
    return machines


_PROBE = Placement(
    model="a-model",
    architecture="a",
    device=Device("a", "a", "cpu", 1e12, 1e11, measured=False),
    backend="cpu",
    runtime="torch",
    precision="fp32",
    mode="inference",
    software="1",
    batch_size=1,
    length=1,
    new_tokens=1,
    threads=1,
    counts=Counts(1e9, 1e8, 1e8, 1e8, 1e8, 1.0),
)
"""A placement that tells whether values that were read fit to each other."""
