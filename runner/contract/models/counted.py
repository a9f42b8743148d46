"""Counted work of one model: what a job leaves that counts, as a bounded and checked claim."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from runner.contract.cell import Frozen
from runner.contract.errors import DamagedFile
from runner.contract.files import read_plain
from runner.contract.models.catalogue import ModelSpec, SizeName
from runner.contract.models.work import FACTOR_SIGN
from runner.contract.reasons import Reason

COUNTS_FILE = "counts.json"
COUNTS_BYTES = 64 << 10
"""Most bytes of such a file; twelve polynomials of eight terms take some 8,000."""
MOST_REASON = 2_000
FORWARD_COUNTS = frozenset({"parameters", "macs", "activations", "outputs", "weights"})
"""Numbers of a forward pass, as `work.json` has them, and the parameters, which are published for
the catalogue's models."""
GENERATION_COUNTS = frozenset(
    {
        *("prefill_macs", "prefill_weights", "step_macs", "step_weights", "step_growth"),
        *("cache", "cache_growth"),
    }
)
"""Those of the parts of a generation."""
Term = tuple[SizeName, ...]  # sizes whose product it is; none stands for 1
_MOST_FACTOR = 1e18
_MOST_TERMS = 16
_MOST_SHOWN = 200
_Factor = Annotated[float, Field(ge=-_MOST_FACTOR, le=_MOST_FACTOR, allow_inf_nan=False)]
_Factors = Annotated[dict[str, _Factor], Field(max_length=_MOST_TERMS)]


class CountedWork(Frozen):
    """The polynomials of one model, or the reason why there are none."""

    counted_by: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    """Fingerprint of the code that counted."""
    polynomials: dict[str, _Factors] = Field(default_factory=dict)
    """Polynomials in the sizes of a query, by what they count; empty if nothing could be counted,
    without those of a generation if that could not."""
    reason: Reason | None = None
    """The reason why something could not be counted; null if everything was."""

    @model_validator(mode="after")
    def _whole(self) -> "CountedWork":
        names = self.polynomials.keys()
        if names and names not in (FORWARD_COUNTS, FORWARD_COUNTS | GENERATION_COUNTS):
            forward, generation = (
                ", ".join(sorted(kinds)) for kinds in (FORWARD_COUNTS, GENERATION_COUNTS)
            )
            raise ValueError(f"must count {forward}, and all or none of {generation}")
        if not self.polynomials and self.reason is None:
            raise ValueError("holds neither counts nor a reason")
        return self


def read_counted(path: Path, model: ModelSpec, counted_by: str) -> CountedWork:
    """The counts in a file, if they are this model's and were made by this code.

    Raises:
        OSError: it does not exist or cannot be read.
        DamagedFile: it is no plain file, too large, or claims what no such job counts.
    """
    try:
        counted = CountedWork.model_validate_json(read_plain(path, COUNTS_BYTES), strict=True)
    except DamagedFile as damaged:
        raise DamagedFile(f"{path.name} {damaged}") from damaged
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:_MOST_SHOWN]
        raise DamagedFile(f"{path.name}: {where or 'it'}: {first['msg']}") from error
    if counted.counted_by != counted_by:
        raise DamagedFile(
            f"{path.name} was counted by the code {counted.counted_by}, and this is {counted_by}",
            hint="rebuild the image of backend cpu: `orchestrator images build cpu`",
        )
    known = {"", *map(term_text, terms_of(model))}
    for name, factors in counted.polynomials.items():
        if foreign := next((term for term in factors if term not in known), None):
            raise DamagedFile(
                f"{path.name}: {name} depends on {foreign[:_MOST_SHOWN]!r}, which is none of "
                f"{', '.join(sorted(known - {''}))}"
            )
    return counted


def terms_of(model: ModelSpec) -> list[Term]:
    """The terms of a model's polynomials: the batch times the sizes that a sample may depend on.

    Attention grows with the square of a length. Over an image it grows with the square of the
    pixels, so with the fourth power of the side.
    """
    lengths: list[SizeName] = []
    if model.takes_sequence:
        lengths.append("prompt_length" if model.image_prompt else "sequence_length")
    if model.audio_seconds:
        lengths.append("audio_seconds")
    if model.image_prompt == "grid":
        lengths.append("image_patches")
    terms: list[Term] = [(), *((name,) * power for name in lengths for power in (1, 2))]
    if model.image_prompt == "anyres":
        terms.append(("image_crops",))
    elif model.image_prompt is None and model.image_size:
        terms += [("image_size",) * 2, ("image_size",) * 4]
    if model.contrastive:
        terms.append(("batch_size",))
    return [("batch_size", *term) for term in terms]


def term_text(term: Iterable[SizeName]) -> str:
    return FACTOR_SIGN.join(term)


def without_weights(model: ModelSpec) -> ModelSpec:
    """The model without the place of its weights, but with their configuration."""
    return model.model_copy(update={"path": None, "hub_id": None, "revision": None})
