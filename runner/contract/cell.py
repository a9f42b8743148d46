"""A cell of the matrix: the frozen value that says what is measured."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from runner.contract.axes import (
    QUESTION_AXES,
    RUNTIMES,
    SIZE_LETTERS,
    Backend,
    Mode,
    Precision,
    Runtime,
    Scenario,
    TrainingPrecision,
)

ModelName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._]*(-[A-Za-z0-9._]+)*$", max_length=100)
]
"""A model's name in matrices and cell ids; it becomes part of names of files."""
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=240)]
"""An id that becomes the name of a file or a folder, and is never a path."""
ProfileName = Literal["quick", "standard", "audit"]
Purpose = Literal["measure", "verify", "time", "reference", "prepare", "count"]

DEFAULT_RUNTIMES: Mapping[Backend, Runtime] = {name: of[0] for name, of in RUNTIMES.items()}
QuestionKey = tuple[object, ...]
"""The values of `QUESTION_AXES` that a cell has."""


class Frozen(BaseModel):
    """A value: immutable, strict about unknown fields, documented field by field."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Cell(Frozen):
    """One point of the matrix, which knows nothing of machines.

    `AXES` has the meaning of its fields, and the columns of a record that of null.
    """

    model: ModelName
    backend: Backend
    runtime: Runtime
    precision: Precision
    batch_size: PositiveInt
    sequence_length: PositiveInt | None
    image_size: PositiveInt | None = None
    audio_seconds: PositiveInt | None = None
    new_tokens: PositiveInt | None = None
    mode: Mode
    scenario: Scenario = "single_stream"
    target_qps: PositiveFloat | None = None
    slo_ms: PositiveFloat | None = None
    threads: PositiveInt | None = None
    workers: PositiveInt | None = None
    training_precision: TrainingPrecision | None = None

    @property
    def id(self) -> str:
        """A readable id that globs can select: `cpu-bert-tiny-fp32-b8-s128-inference`."""
        return "-".join(filter(None, (self._stem, self.shape, self.mode, self.pure, self.pattern)))

    @property
    def question(self) -> QuestionKey:
        """The values on which it agrees with the cells that are measured side by side with it."""
        return tuple(getattr(self, name) for name in QUESTION_AXES)

    @property
    def shape(self) -> str:
        """The sizes in the id, e.g. `b8-s128` or `b1-s128-n32-t4`; offline finds its own batch."""
        return "-".join(
            f"{letter}{size}"
            for letter, name in SIZE_LETTERS
            if (size := getattr(self, name)) is not None
            and not (name == "batch_size" and self.scenario == "offline")
        )

    @property
    def pattern(self) -> str:
        """The scenario in the id: empty, `offline`, `server-q50` or `server-peak-slo100`."""
        if self.scenario == "single_stream":
            return ""
        if self.scenario == "offline":
            return "offline"
        rate = f"peak-slo{self.slo_ms:g}" if self.seeks_peak else f"q{self.target_qps:g}"
        return f"server-{rate}"

    @property
    def pure(self) -> str:
        """`pure` in the id, for training without parameters in fp32; else empty."""
        return "pure" if self.training_precision == "pure" else ""

    @property
    def seeks_peak(self) -> bool:
        """True if the highest rate is sought that meets `slo_ms`."""
        return self.scenario == "server" and self.target_qps is None

    @property
    def job_id(self) -> str:
        """The id of the job that executes this cell: what its cells have in common.

        A cold start shares its job with none, as no other cell's model may be loaded beside it.
        """
        if self.mode == "startup":
            return self.id
        threads = None if self.threads is None else f"t{self.threads}"
        return "-".join(filter(None, (self._stem, threads, self.mode, self.pure)))

    @property
    def _stem(self) -> str:
        default = self.runtime == DEFAULT_RUNTIMES[self.backend]
        path = self.backend if default else f"{self.backend}-{self.runtime}"
        return f"{path}-{self.model}-{self.precision}"
