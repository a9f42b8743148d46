"""The manifest of a predictor's files: what it rests on, how good it is, and what they must be."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

from runner.contract.cell import FileName, Frozen
from runner.contract.errors import DamagedFile, StoreError

ARTEFACT_VERSION = 4
"""Raised with every change of a predictor's files that older programs would misread."""
MANIFEST_NAME = "predictor.json"
Sources: TypeAlias = Literal["ours", "all"]
"""Whose results a predictor learns from: ours alone, or imported ones too."""
ReadFile: TypeAlias = Callable[[str], str]
"""Gives the text of a file of this name; it raises `OSError` or `DamagedFile`."""
Refuse: TypeAlias = Callable[[str], StoreError]
"""Makes the error that says what is wrong."""
OTHER_VERSION = "it is of another version of AccelMatrix"


class NoveltyErrors(Frozen):
    """Errors of one target, for questions of one novelty."""

    examples: PositiveInt
    groups: PositiveInt
    median_error: NonNegativeFloat
    """The median of the relative errors of hidden examples, 0.05 for 5 %."""


class TargetFacts(Frozen):
    """The knowledge of a predictor about one target."""

    examples: dict[str, NonNegativeInt]
    errors: dict[str, NoveltyErrors]
    """By novelty, as far as examples tell them."""


class TrainingOrigin(Frozen):
    """The results that a predictor was trained on, and the program that did it."""

    accelmatrix: str
    schema_version: PositiveInt
    trained_at: datetime
    database: str
    sources: Sources
    rows: dict[str, PositiveInt]
    """By run, the number of results that it could learn from."""
    rows_digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the ids and values of its examples, in hex."""
    left_out: dict[str, PositiveInt]
    """By reason, the results that are no examples."""


class PredictorManifest(TrainingOrigin):
    """A predictor and its files."""

    version: PositiveInt
    columns: tuple[str, ...]
    """The features and effects that it was fitted with: others cannot read it."""
    targets: dict[str, TargetFacts]
    files: dict[FileName, str]

    @property
    def examples(self) -> dict[str, int]:
        """The number of examples by who measured them, of the target that has most."""
        counts = (facts.examples for facts in self.targets.values())
        return max(counts, key=lambda by_source: sum(by_source.values()), default={})


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def predictor_manifest(read: ReadFile, digest: str | None, refuse: Refuse) -> PredictorManifest:
    """The manifest of a predictor, of which the database has this digest, or none."""
    fault = "is that of another database, or was altered"
    text = read_verified(MANIFEST_NAME, read, digest, refuse, fault)
    try:
        manifest = PredictorManifest.model_validate_json(text)
    except ValidationError as error:
        raise refuse(OTHER_VERSION) from error
    if manifest.version != ARTEFACT_VERSION:
        raise refuse(OTHER_VERSION)
    return manifest


def read_verified(name: str, read: ReadFile, digest: str | None, refuse: Refuse, fault: str) -> str:
    try:
        text = read(name)
    except FileNotFoundError as error:
        raise refuse(f"{name} is missing") from error
    except DamagedFile as damaged:
        raise refuse(str(damaged)) from damaged
    if text_digest(text) != digest:
        raise refuse(f"{name} {fault}")
    return text
