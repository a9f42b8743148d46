"""What the name of one of timm's result files says, which is nowhere in the file.

The pattern of pytorch-image-models' `results/` folder:
`benchmark-{infer,train}-<precision>-<layout>-pt<torch>-{cu<cuda>,cpu}-<device>[-dynamo].csv`.
"""

import re
from dataclasses import dataclass

_NAME = re.compile(
    r"benchmark-(?:infer|train)-(?P<precision>[a-z0-9_]+)-(?P<layout>nchw|nhwc)"
    r"-pt(?P<torch>\d{3,4})-(?:cu(?P<cuda>\d{3})|cpu)-(?P<device>[A-Za-z0-9_.]+)"
    r"(?P<dynamo>-dynamo)?\.(?:csv|json)"
)


@dataclass(frozen=True)
class TimmName:
    """The parts of a name, as the source states them."""

    precision: str
    """E.g. `fp32`; `amp` is torch's mixed precision with fp16, `amp_bf16` with bf16."""
    layout: str
    torch: str
    cuda: str | None
    """Null says that the processor was measured."""
    device: str
    dynamo: bool
    """Whether `torch.compile` was used."""


def parse_name(name: str) -> TimmName | None:
    """The parts of a file's name; None if it does not follow the pattern."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    cuda = match["cuda"]
    return TimmName(
        precision=match["precision"],
        layout=match["layout"],
        torch=_torch_version(match["torch"]),
        cuda=f"{cuda[:2]}.{cuda[2]}" if cuda else None,
        device=match["device"],
        dynamo=match["dynamo"] is not None,
    )


def _torch_version(digits: str) -> str:
    # pt113 is PyTorch 1.13, pt240 is 2.4.0, as the commits that added the files say.
    if digits[0] == "1":
        return ".".join(filter(None, ("1", digits[1:3], digits[3:])))
    return f"{digits[0]}.{digits[1:-1]}.{digits[-1]}"
