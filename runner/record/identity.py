"""Columns that say what was asked for."""

from pydantic import AwareDatetime

from runner.cell import Backend, Frozen, Mode, Precision, Purpose, Runtime, Scenario
from runner.models import Family, Modality


class Identity(Frozen):
    """Which cell of which run this is."""

    run_id: str
    """The invocation of `orchestrator run` that planned the cell."""
    job_id: str
    """The job that executed it."""
    cell_id: str
    """The cell's readable id."""
    recorded_at: AwareDatetime
    """When the record was written, UTC."""

    model: str
    """Name of the model."""
    family: Family
    """What the model is for."""
    task: str
    """The model's task in Hugging Face's words."""
    modality: Modality
    """What a sample consists of."""
    backend: Backend
    """The hardware path."""
    runtime: Runtime
    """The software that executed the graph."""
    precision: Precision
    """Number format of weights and arithmetic."""
    batch_size: int
    """Samples in one query; in the scenario `offline` the batch that was found."""
    sequence_length: int | None
    """Tokens in one sample, those of the prompt; null for models that take no text."""
    image_size: int | None = None
    """Height and width of an image, pixels; null for models that fix it or take none."""
    audio_seconds: int | None = None
    """Seconds of sound in one sample; null for models that fix it or take none."""
    new_tokens: int | None = None
    """Tokens generated for each sample; null unless the mode is `generation`."""
    mode: Mode
    """What was measured."""
    scenario: Scenario = "single_stream"
    """How queries arrived."""
    target_qps: float | None = None
    """Queries per second that were offered; null unless the scenario is `server` at a set rate."""
    slo_ms: float | None = None
    """Milliseconds that 99 % of queries had to meet; null unless the highest rate was sought."""
    seed: int
    """Seed of weights, inputs and arrivals."""
    profile: str
    """The measurement profile asked for."""
    purpose: Purpose = "measure"
    """Whether the cell was timed, verified or both."""
    model_id: str | None = None
    """Hash of `model_spec`: the same name with another configuration has another one."""
    model_spec: str | None = None
    """All that is needed to build the model, as JSON."""
    job: str | None = None
    """The job with this cell alone and without its model, as JSON: with `model_spec` it is what
    `orchestrator replay` runs again."""
