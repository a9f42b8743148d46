"""The manifest of a predictor's files: what it rests on, how good it is, and what they must be."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)

from analysis.predict.examples.placements import PREDICTION_TARGETS
from analysis.predict.novelty import Novelty
from runner.contract.axes import Backend, Mode
from runner.contract.cell import FileName, Frozen
from runner.contract.errors import DamagedFile, StoreError

if TYPE_CHECKING:
    from analysis.predict.trials import AnsweredQuestion, NoveltyTrial

ARTEFACT_VERSION = 4
"""Raised with every change of a predictor's files that older programs would misread."""
MANIFEST_NAME = "predictor.json"
Sources: TypeAlias = Literal["ours", "all"]
"""Whose results a predictor learns from: ours alone, or imported ones too."""
ReadFile: TypeAlias = Callable[[str], str]
"""Gives the text of a file of this name; it raises `OSError` or `DamagedFile`."""
Refuse: TypeAlias = Callable[[str], StoreError]
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


class TrainingOrigin(Frozen):
    """The results that a predictor was trained on, and the program that did it."""

    accelmatrix: str
    schema_version: PositiveInt
    trained_at: datetime
    database: str
    sources: Sources
    rows: dict[str, PositiveInt]
    rows_digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the ids and values of its examples, in hex."""
    left_out: dict[str, PositiveInt]
    doubtful: NonNegativeInt
    """Those of its results that are of grade D."""


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
    return hashlib.sha256(text.encode()).hexdigest()


def predictor_manifest(read: ReadFile, digest: str | None, refuse: Refuse) -> PredictorManifest:
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


EVALUATION_NAME = "evaluation.json"
"""It stands beside the files of the manifest: a new predictor has none yet."""
MOST_ANSWERS = 300
"""Answers of one target and novelty that are kept, drawn by a seed."""
MOST_MISSES = 10
"""Those of all answers likewise that are farthest off."""
_SEED = 20
_MOST = 1e140
"""No prediction lies beyond it, and ratios of such numbers are finite."""
_Positive: TypeAlias = Annotated[float, Field(gt=1 / _MOST, lt=_MOST)]
_Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
_Error: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _known_target(name: str) -> str:
    if name not in PREDICTION_TARGETS:
        raise ValueError(f"{name!r:.80} is no target")
    return name


_TargetName: TypeAlias = Annotated[str, AfterValidator(_known_target)]


class KeptAnswer(Frozen):
    """A result that was hidden, with what was predicted of it, in the target's base unit."""

    model: str
    device: str
    backend: Backend
    runtime: str
    precision: str
    mode: Mode
    batch_size: PositiveInt
    length: PositiveInt | None
    measured: _Positive
    predicted: _Positive
    low: _Positive
    high: _Positive
    outside: tuple[str, ...]

    @property
    def error(self) -> float:
        return abs(self.predicted / self.measured - 1)

    @property
    def held(self) -> bool:
        return self.low <= self.measured <= self.high


class KeptTrial(Frozen):
    """The trial of one novelty."""

    folds: PositiveInt
    of_folds: PositiveInt
    questions: PositiveInt
    groups: NonNegativeInt
    refused: NonNegativeInt
    extrapolations: NonNegativeInt
    mape: _Error
    median_ape: _Error
    within_tenth: _Share
    bias: Annotated[float, Field(ge=-1, allow_inf_nan=False)]
    coverage: _Share
    half_width: _Positive
    baselines: dict[str, _Error]
    """The MAPE of each on the same questions."""
    answers: Annotated[tuple[KeptAnswer, ...], Field(max_length=MOST_ANSWERS)]
    misses: Annotated[tuple[KeptAnswer, ...], Field(max_length=MOST_MISSES)]


class KeptEvaluation(Frozen):
    """All trials of a predictor's results."""

    version: Literal[1] = 1
    evaluated_at: datetime
    """UTC."""
    rows_digest: str
    targets: Mapping[_TargetName, Mapping[Novelty, KeptTrial]]


def kept_trial(tried: "NoveltyTrial") -> KeptTrial | None:
    from analysis.statistics.arrays import np

    trial = tried.trial
    accuracy, intervals = trial.accuracy, trial.intervals
    if accuracy is None or intervals is None:
        return None
    answers = [*map(kept_answer, trial.answered)]
    drawn = np.random.default_rng(_SEED).permutation(len(answers))[:MOST_ANSWERS]
    return KeptTrial(
        folds=tried.folds[0],
        of_folds=tried.folds[1],
        groups=tried.groups,
        refused=trial.refusals,
        extrapolations=trial.marked,
        **(asdict(intervals) | asdict(accuracy)),
        baselines={name: one.mape for name, one in trial.baselines.items()},
        answers=tuple(answers[number] for number in sorted(drawn.tolist())),
        misses=tuple(sorted(answers, key=lambda one: -one.error)[:MOST_MISSES]),
    )


def kept_answer(one: "AnsweredQuestion") -> KeptAnswer:
    placement, prediction = one.example.placement, one.prediction
    names = ("model", "backend", "runtime", "precision", "mode", "batch_size", "length")
    return KeptAnswer(
        **{name: getattr(placement, name) for name in names},
        device=placement.device.name,
        measured=one.example.value,
        predicted=prediction.value,
        low=prediction.low,
        high=prediction.high,
        outside=prediction.outside,
    )


def parse_evaluation(text: str) -> KeptEvaluation:
    """The evaluation in this text; raises DamagedFile where it is none, or of another version."""
    try:
        return KeptEvaluation.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, fault["loc"]))
        raise DamagedFile(f"{EVALUATION_NAME}: {field}: {fault['msg']}") from error
