"""The fixed seeded input for which every session of a model is compared with its reference."""

import numpy as np
import numpy.typing as npt

from runner.backends.base import Array, Session
from runner.cell import Cell, Job
from runner.inputs import synthesise
from runner.measure.clock import Clock

BATCH_SIZE = 2
SEQUENCE_LENGTH = 32
NEW_TOKENS = 16
TOKENS = "generated_tokens"
"""The name under which a reference keeps generated tokens, beside the outputs."""


def fixed_cell(job: Job) -> Cell:
    """The shape at which every session of this model is verified, whatever it measures.

    Images and sounds are the smallest that the model takes.
    """
    model = job.model
    longest = model.max_sequence_length or 2 * SEQUENCE_LENGTH
    length = max(1, min(SEQUENCE_LENGTH, longest - NEW_TOKENS))
    return job.cells[0].model_copy(
        update={
            "batch_size": BATCH_SIZE,
            "sequence_length": length if model.takes_sequence else None,
            "image_size": model.image_size and model.image_size.least,
            "audio_seconds": model.audio_seconds and model.audio_seconds.least,
            "new_tokens": max(1, min(NEW_TOKENS, longest - length)),
        }
    )


def outputs_of(session: Session, job: Job) -> dict[str, Array]:
    """The outputs for the fixed input, by name."""
    cell = fixed_cell(job)
    query = session.bind(cell, synthesise(job.model, cell, job.seed))
    return dict(session.arrays(query()))


def tokens_of(session: Session, job: Job, clock: Clock) -> npt.NDArray[np.int64]:
    """The tokens generated after the fixed prompt."""
    cell = fixed_cell(job)
    generate = session.bind_generation(cell, synthesise(job.model, cell, job.seed), clock)
    return generate().tokens
