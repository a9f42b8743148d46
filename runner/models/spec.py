"""What is known about a model: its architecture, its inputs, its published size."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

Family = Literal["embedding", "text_generation", "vision", "audio", "multimodal"]
Modality = Literal["text", "image", "audio", "video", "multimodal"]
AxisName = Literal["batch_size", "sequence_length", "image_size", "audio_seconds"]


class TensorSpec(BaseModel):
    """One input tensor, synthesised from this description and a seed."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """The argument's name in the model's forward pass."""
    kind: Literal["token_ids", "ones", "normal"]
    """`token_ids`: int64 drawn from [low, high); `ones`: int64 ones; `normal`: float32 N(0, 1)."""
    shape: tuple[PositiveInt | AxisName, ...]
    """Sizes; a name stands for the cell's value of that axis."""
    low: int = 0
    """Lowest token id."""
    high: PositiveInt | None = None
    """One past the highest token id; required for `token_ids`."""


class AxisRange(BaseModel):
    """The values that a model takes on one axis."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    default: PositiveInt
    """The value where a matrix names none."""
    least: PositiveInt = 1
    """The smallest value."""
    most: PositiveInt | None = None
    """The largest value; null where memory is the limit."""
    multiple_of: PositiveInt = 1
    """What every value must be a multiple of."""


class ModelSpec(BaseModel):
    """A model of the catalogue, or a custom one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._]*(-[A-Za-z0-9._]+)*$", max_length=100)
    """The name used in matrices and cell ids."""
    family: Family
    """What the model is for."""
    task: str
    """The task in Hugging Face's words, e.g. `fill-mask`."""
    modality: Modality
    """What a sample consists of."""
    architecture: str
    """The transformers class that builds the model, e.g. `AutoModelForMaskedLM`."""
    config: dict[str, Any]
    """The bundled configuration; `model_type` names the architecture's configuration class."""
    inputs: tuple[TensorSpec, ...] = Field(min_length=1)
    """The tensors of one query."""
    forward: dict[str, bool] = Field(default_factory=dict)
    """Constant arguments of the forward pass."""
    labels: TensorSpec | None = None
    """What training compares the outputs with; null for models that are not trained here."""
    encoder_decoder: bool = False
    """Whether an encoder reads the inputs and a decoder writes the outputs."""
    max_sequence_length: PositiveInt | None = None
    """Most tokens a sample may have; null for models that take no text."""
    image_size: AxisRange | None = None
    """Height and width that images may have, pixels; null for models that fix it or take none."""
    audio_seconds: AxisRange | None = None
    """Seconds that a sound may have; null for models that fix it or take none."""
    parameters: PositiveInt | None = None
    """The published number of parameters; null for custom models."""
    hub_id: str | None = None
    """Where the original weights are published."""
    licence: str | None = None
    """SPDX id of the original weights' licence."""

    @property
    def takes_sequence(self) -> bool:
        """Whether the sequence length changes what this model computes."""
        return any("sequence_length" in tensor.shape for tensor in self.inputs)
