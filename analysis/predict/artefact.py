"""A predictor as files of JSON, and back.

`predictor.json` says what it rests on and has the digests of the other files, and the database has
the digest of that one: what is read here is what was written here, so it is not judged anew. That
matters for trees, since LightGBM follows every index and length in their text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

from pydantic import TypeAdapter

from analysis.predict.calibrated import CalibratedTrees
from analysis.predict.effects import GROUPS, EffectSet
from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine
from analysis.predict.expectation import Expectation
from analysis.predict.features import FEATURES, Domain
from analysis.predict.forecaster import Forecaster
from analysis.predict.manifest import (
    ARTEFACT_VERSION,
    MANIFEST_NAME,
    OTHER_VERSION,
    NoveltyErrors,
    PredictorManifest,
    ReadFile,
    Refuse,
    TargetFacts,
    TrainingOrigin,
    read_verified,
    text_digest,
)
from analysis.predict.novelty import Novelty, Seen
from analysis.predict.predictor import TargetPredictor
from analysis.predict.trees import TreeColumns

_MACHINES_NAME, _MACHINES = "machines.json", tuple[KnownMachine, ...]
_Name = TypeVar("_Name", bound=str)
_Part = TypeVar("_Part")


@dataclass(frozen=True)
class _TargetFile:
    """A target's predictor; expectations and trees, which no question needs all, are beside it."""

    columns: TreeColumns
    domain: Domain
    seen: Seen
    examples: Mapping[str, int]
    expectations: tuple[EffectSet, ...]
    trees: tuple[Novelty, ...]


def predictor_files(forecaster: Forecaster, origin: TrainingOrigin) -> dict[str, str]:
    """The text of each file by its name; the manifest, which vouches for all others, is last."""
    files = {_MACHINES_NAME: _written(_MACHINES, forecaster.machines)}
    for name, predictor in forecaster.predictors.items():
        target = _TargetFile(
            *(predictor.columns, predictor.domain, predictor.seen, predictor.examples),
            expectations=tuple(predictor.expectations),
            trees=tuple(predictor.trees),
        )
        files[f"{name}.json"] = _written(_TargetFile, target)
        for part, value in predictor.expectations.items():
            files[_part_name(name, part)] = _written(Expectation, value)
        for novelty, trees in predictor.trees.items():
            files[_part_name(name, novelty)] = _written(CalibratedTrees, trees)
    manifest = PredictorManifest(
        **dict(origin),
        version=ARTEFACT_VERSION,
        columns=_fitted_columns(),
        targets={name: _facts(one) for name, one in forecaster.predictors.items()},
        files={name: text_digest(text) for name, text in files.items()},
    )
    return {**files, MANIFEST_NAME: manifest.model_dump_json(indent=1) + "\n"}


def _facts(predictor: TargetPredictor) -> TargetFacts:
    errors = {
        novelty: NoveltyErrors(
            examples=trees.errors, groups=trees.groups, median_error=trees.median_error
        )
        for novelty, trees in predictor.trees.items()
    }
    return TargetFacts(examples=dict(predictor.examples), errors=errors)


def _part_name(target: str, part: str) -> str:
    return f"{target}-{part}.json"


def _fitted_columns() -> tuple[str, ...]:
    """The features and effects that predictors of this version are fitted with."""
    slopes = (
        f"{chosen}, {name}: {', '.join(group.slopes)}"
        for chosen, groups in GROUPS.items()
        for name, group in groups.items()
    )
    return (*FEATURES, *slopes)


def read_forecaster(
    manifest: PredictorManifest,
    read: ReadFile,
    refuse: Refuse,
    targets: Sequence[str] | None = None,
) -> Forecaster:
    """The forecaster in the files of this manifest; `refuse` makes the error of a wrong one.

    Files of targets other than these are not read, and expectations and trees not before a question
    needs them.
    """
    if manifest.columns != _fitted_columns():
        raise refuse(OTHER_VERSION)

    def part(kind: Any, name: str) -> Any:
        digest = manifest.files.get(name)
        text = read_verified(name, read, digest, refuse, f"is not what {MANIFEST_NAME} says")
        return _adapter(kind).validate_json(text)

    wanted = [name for name in manifest.targets if targets is None or name in targets]
    predictors = {name: _predictor(name, part) for name in wanted}
    return Forecaster(predictors, part(_MACHINES, _MACHINES_NAME))


def _predictor(name: str, part: Callable[[Any, str], Any]) -> TargetPredictor:
    file: _TargetFile = part(_TargetFile, f"{name}.json")

    def read(kind: Any, chosen: str) -> Any:
        return part(kind, _part_name(name, chosen))

    return TargetPredictor(
        target=PREDICTION_TARGETS[name],
        expectations=_Parts(file.expectations, partial(read, Expectation)),
        columns=file.columns,
        trees=_Parts(file.trees, partial(read, CalibratedTrees)),
        domain=file.domain,
        seen=file.seen,
        examples=file.examples,
    )


@dataclass(frozen=True)
class _Parts(Mapping[_Name, _Part]):
    """Parts of a predictor by name, each read when it is needed first."""

    names: Sequence[_Name]
    read: Callable[[_Name], _Part]
    known: dict[_Name, _Part] = field(default_factory=dict)

    def __getitem__(self, name: _Name) -> _Part:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.known:
            self.known[name] = self.read(name)
        return self.known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[_Name]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _written(kind: Any, value: Any) -> str:
    return _adapter(kind).dump_json(value).decode() + "\n"


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
