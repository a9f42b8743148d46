"""int8: linear layers with weights quantised once, and inputs quantised at each call."""

import warnings
from collections.abc import Sequence

import torch
from torch.ao.nn.quantized.dynamic import Linear as PackedLinear
from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic
from torch.nn import Linear
from torch.nn.functional import pad
from transformers.pytorch_utils import Conv1D

from runner.contract.errors import Unsupported
from runner.contract.reasons import reason

_LARGEST = 127
_LEAST_SCALE = torch.finfo(torch.float32).tiny
_MULTIPLE, _FEWEST_ROWS = 8, 17
"""On CUDA sides of the weights are multiples, and products have at least so many rows."""


class Int8Linear(torch.nn.Module):
    """Linear layer with floating-point inputs and outputs and an int8 matrix product."""

    weight: torch.Tensor
    scale: torch.Tensor

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight, scale = quantise_rows(linear.weight)
        wide, tall = -self.in_features % _MULTIPLE, -self.out_features % _MULTIPLE
        self.register_buffer("weight", pad(weight, (0, wide, 0, tall)))
        self.register_buffer("scale", scale.t().contiguous())
        self.bias = linear.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        rows = inputs.reshape(-1, self.in_features)
        integers, scale = quantise_rows(rows)
        missing = max(0, _FEWEST_ROWS - len(rows))
        integers = pad(integers, (0, -self.in_features % _MULTIPLE, 0, missing))
        # Turned by its strides alone: cuBLAS has few kernels for weights in another layout.
        sums = torch._int_mm(integers, self.weight.t())[: len(rows), : self.out_features]
        outputs = (sums * scale * self.scale).to(inputs.dtype)
        if self.bias is not None:
            outputs = outputs + self.bias
        return outputs.reshape(*inputs.shape[:-1], self.out_features)


def quantise_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows as integers up to 127, and each row's scale."""
    numbers = rows.float()
    scale = numbers.abs().amax(dim=-1, keepdim=True) / _LARGEST
    scale = scale.clamp(min=_LEAST_SCALE)  # a row of zeros
    return (numbers / scale).round().to(torch.int8), scale


@torch.no_grad()
def quantise(model: torch.nn.Module, device_type: str = "cpu") -> str:
    """Quantise linear layers in place, packed on the CPU; return the method and their share."""
    _unfold(model)
    linear = [module for module in model.modules() if type(module) is Linear]
    if not linear:
        weighted = (m for m in model.modules() if any(True for _ in m.parameters(recurse=False)))
        kinds = ", ".join(sorted({type(layer).__name__ for layer in weighted}))
        raise Unsupported(reason("int8_no_linear", kinds=kinds))
    total = sum(parameter.numel() for parameter in model.parameters())
    share = min(1.0, sum(layer.weight.numel() for layer in linear) / total)
    if device_type == "cpu":
        how, inputs = packed_method(), "call"
        with warnings.catch_warnings(action="ignore"):  # what shall replace it is slower here
            quantize_dynamic(  # type: ignore[no-untyped-call]
                model, {Linear: per_channel_dynamic_qconfig}, inplace=True
            )
    else:
        how, inputs = "torch._int_mm dynamic", "token"
        _replace(model, linear)
    layers = sum(isinstance(module, PackedLinear | Int8Linear) for module in model.modules())
    return (
        f"{how}: {layers} linear layers, {share:.0%} of the parameters; weights per channel, "
        f"activations per {inputs}"
    )


def packed_method() -> str:
    return f"torch.ao dynamic ({torch.backends.quantized.engine})"


def quantised_types(model: torch.nn.Module) -> set[str]:
    """The types of quantised weights, which are no parameters any more."""
    layers = list(model.modules())
    packed = {str(m._packed_params.dtype) for m in layers if isinstance(m, PackedLinear)}
    return packed | {str(m.weight.dtype) for m in layers if isinstance(m, Int8Linear)}


def _replace(model: torch.nn.Module, linear: Sequence[Linear]) -> None:
    """Put int8 layers in the place of these; one that several modules share stays one."""
    quantised = {layer: Int8Linear(layer) for layer in linear}
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if type(child) is Linear:
                setattr(parent, name, quantised[child])


def _unfold(model: torch.nn.Module) -> None:
    """Replace GPT-2's `Conv1D`, linear layers with transposed weights, by linear layers."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Conv1D):
                linear = Linear(child.nx, child.nf, device="meta")
                linear.weight = torch.nn.Parameter(child.weight.t().contiguous())
                linear.bias = child.bias
                setattr(parent, name, linear)
