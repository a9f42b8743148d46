"""int8 on the CPU: linear layers whose weights are quantised once, their inputs at each call."""

import warnings
from collections.abc import Iterator

import torch
from torch.ao.nn.quantized.dynamic import Linear as Int8Linear
from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic
from transformers.pytorch_utils import Conv1D

from runner.errors import Unsupported


@torch.no_grad()
def quantise(model: torch.nn.Module) -> str:
    """Make the model's linear layers int8, in place; return how, and how much of the model it is.

    Raises:
        Unsupported: the model has none.
    """
    _unfold(model)
    linear = [m.weight.numel() for m in model.modules() if type(m) is torch.nn.Linear]
    if not linear:
        kinds = ", ".join(sorted({type(layer).__name__ for layer in _weighted(model)}))
        raise Unsupported(
            f"int8 is not possible: torch quantises linear layers, and this model has {kinds} only"
        )
    total = sum(parameter.numel() for parameter in model.parameters())
    with warnings.catch_warnings(action="ignore"):  # on every call: what replaces it is slower here
        quantize_dynamic(  # type: ignore[no-untyped-call]
            model, {torch.nn.Linear: per_channel_dynamic_qconfig}, inplace=True
        )
    layers = sum(isinstance(module, Int8Linear) for module in model.modules())
    return (
        f"torch.ao dynamic ({torch.backends.quantized.engine}): {layers} linear layers, "
        f"{min(1.0, sum(linear) / total):.0%} of the parameters; weights per channel, "
        "activations per call"
    )


def quantised_types(model: torch.nn.Module) -> set[str]:
    """The types of weights that are no parameters any more."""
    packed = (m._packed_params for m in model.modules() if isinstance(m, Int8Linear))
    return {str(parameters.dtype) for parameters in packed}


def _unfold(model: torch.nn.Module) -> None:
    """Put linear layers in the place of GPT-2's `Conv1D`, which are such with turned weights."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Conv1D):
                linear = torch.nn.Linear(child.nx, child.nf, device="meta")
                linear.weight = torch.nn.Parameter(child.weight.t().contiguous())
                linear.bias = child.bias
                setattr(parent, name, linear)


def _weighted(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The layers that hold parameters themselves."""
    return (m for m in model.modules() if next(m.parameters(recurse=False), None) is not None)
