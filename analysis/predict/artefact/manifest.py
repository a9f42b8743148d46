"""The manifest of a predictor's files: what it rests on, how good it is, and what they must be."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

from analysis.predict.artefact.json_text import parsed
from runner.contract.cell import FileName, Frozen
from runner.contract.errors import DamagedFile

ARTEFACT_VERSION = 3
"""Raised with every change of a predictor's files that older programs would misread."""
MANIFEST_NAME = "predictor.json"
Sources: TypeAlias = Literal["ours", "all"]
"""Whose results a predictor learns from: ours alone, or imported ones too."""
_Kept = TypeVar("_Kept", bound=Frozen)


class NoveltyErrors(Frozen):
    """Errors of one target, for questions of one novelty."""

    examples: PositiveInt
    """Hidden examples that they are known from."""
    groups: PositiveInt
    """Groups that were hidden together, such as models or devices."""
    median_error: NonNegativeFloat
    """The median of the relative errors of hidden examples, 0.05 for 5 %."""


class TargetFacts(Frozen):
    """The knowledge of a predictor about one target."""

    examples: dict[str, NonNegativeInt]
    """The number of examples by who measured them."""
    errors: dict[str, NoveltyErrors]
    """By novelty, as far as examples tell them."""


class PredictorManifest(Frozen):
    """A predictor and its files."""

    version: PositiveInt
    """Version of the files, `ARTEFACT_VERSION`."""
    accelmatrix: str
    """The version of AccelMatrix that trained it."""
    schema_version: PositiveInt
    """That of the database's tables."""
    trained_at: datetime
    """UTC."""
    database: str
    """The name of the database's file."""
    sources: Sources
    """Whose results it learnt from."""
    rows: dict[str, PositiveInt]
    """By run, the number of results that it could learn from."""
    rows_digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the ids and values of its examples, in hex."""
    left_out: dict[str, PositiveInt]
    """By reason, the results that are no examples."""
    columns: Sequence[str]
    """The features and effects that it was fitted with: others cannot read it."""
    targets: dict[str, TargetFacts]
    """By name."""
    files: Mapping[FileName, str]
    """SHA-256 of each of its other files, in hex."""

    @property
    def examples(self) -> dict[str, int]:
        """The number of examples by who measured them, of the target that has most."""
        return max((one.examples for one in self.targets.values()), key=_total, default={})


def parse_manifest(text: str) -> PredictorManifest:
    """The manifest in this text.

    Raises:
        DamagedFile: it is none, or is that of other files than this version reads.
    """
    return parse_versioned(PredictorManifest, text, MANIFEST_NAME, ARTEFACT_VERSION)


def parse_versioned(kind: type[_Kept], text: str, name: str, version: int) -> _Kept:
    """The value of that class in the text of a file.

    Args:
        kind: the class, with a field `version`.
        text: the text.
        name: the file's name, for errors.
        version: the version that is read.

    Raises:
        DamagedFile: it is none, or is of another version.
    """
    try:
        data = parsed(text)
        written = data.get("version") if isinstance(data, dict) else None
        if written != version:
            raise DamagedFile(
                f"{name}: its version is {written!r:.20}, and this AccelMatrix reads {version}"
            )
        return kind.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, fault["loc"]))
        raise DamagedFile(f"{name}: {field}: {fault['msg']}") from error
    except ValueError as error:
        raise DamagedFile(f"{name}: {error}") from error


def _total(examples: Mapping[str, int]) -> int:
    return sum(examples.values())
