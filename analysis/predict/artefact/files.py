"""The files of a predictor, by name."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, get_type_hints

from analysis.predict.artefact.codec import encoded
from analysis.predict.artefact.json_text import written
from analysis.predict.artefact.manifest import (
    ARTEFACT_VERSION,
    MANIFEST_NAME,
    NoveltyErrors,
    PredictorManifest,
    Sources,
    TargetFacts,
)
from analysis.predict.calibrated import CalibratedTrees
from analysis.predict.effects import GROUPS, EffectSet
from analysis.predict.examples.placements import KnownMachine
from analysis.predict.expectation import Expectation
from analysis.predict.features import FEATURES
from analysis.predict.forecaster import Forecaster
from analysis.predict.predictor import TargetPredictor

MACHINES_NAME = "machines.json"
TREE_FIELDS = ("trees", "spread")
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
    files = {MACHINES_NAME: written(encoded(tuple[KnownMachine, ...], forecaster.machines))}
    for predictor in forecaster.predictors.values():
        files |= _target_files(predictor)
    manifest = PredictorManifest(
        version=ARTEFACT_VERSION,
        **vars(origin),
        columns=fitted_columns(),
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


def _target_files(predictor: TargetPredictor) -> dict[str, str]:
    """Expectations and trees have files of their own, as no question needs them all."""
    name, types = predictor.target.name, field_types(TargetPredictor)
    parts = {"expectations": [*predictor.expectations], "trees": [*predictor.trees]}
    data = {
        field: parts.get(field) or encoded(kind, getattr(predictor, field))
        for field, kind in types.items()
    }
    files = {f"{name}.json": written({**data, **parts})}
    for chosen, expectation in predictor.expectations.items():
        files[expectation_file(name, chosen)] = written(encoded(Expectation, expectation))
    for novelty, calibrated in predictor.trees.items():
        stem, kinds = f"{name}-{novelty}", field_types(CalibratedTrees)
        texts = {
            f"{stem}-{field}.txt": trees.text
            for field in TREE_FIELDS
            if (trees := getattr(calibrated, field)) is not None
        }
        facts = {
            field: None if field in TREE_FIELDS else encoded(kind, getattr(calibrated, field))
            for field, kind in kinds.items()
        }
        files |= {f"{stem}.json": written(facts), **texts}
    return files


def fitted_columns() -> tuple[str, ...]:
    """The features and effects that predictors of this version are fitted with."""
    slopes = (
        f"{chosen}, {name}: {', '.join(group.slopes)}"
        for chosen, groups in GROUPS.items()
        for name, group in groups.items()
    )
    return (*FEATURES, *slopes)


def expectation_file(target: str, chosen: EffectSet) -> str:
    """The name of the file with the expectation of a set of effects."""
    return f"{target}-expectation-{chosen}.json"


def field_types(kind: Any) -> dict[str, Any]:
    """The fields of a class with their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
