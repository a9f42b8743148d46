"""A linear layer in int8, which torch multiplies with the device's instructions for whole numbers.

Weights have a scale per output channel, made once; inputs one per token, made at each call:

    y = (q(x) · q(w)) × scale(x) × scale(w) + bias
    q(v) = round(v / scale), scale = max |v| / 127
"""

import torch
from torch.nn.functional import pad

LARGEST = 127
LEAST_SCALE = torch.finfo(torch.float32).tiny
MULTIPLE = 8
"""What both sides of the weights must be a multiple of on CUDA."""
FEWEST_ROWS = 17
"""The inputs that a product on CUDA must have at least."""


class WholeLinear(torch.nn.Module):
    """Takes and gives floating-point numbers; in between are whole ones."""

    weight: torch.Tensor
    scale: torch.Tensor

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        whole, scale = quantised(linear.weight)
        wide, tall = -self.in_features % MULTIPLE, -self.out_features % MULTIPLE
        # Turned once, since cuBLAS gives wrong sums for weights that are turned by their strides.
        self.register_buffer("weight", pad(whole, (0, wide, 0, tall)).t().contiguous())
        self.register_buffer("scale", scale.t().contiguous())
        self.bias = linear.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The product with the weights, in the inputs' own type."""
        rows = inputs.reshape(-1, self.in_features)
        whole, scale = quantised(rows)
        missing = max(0, FEWEST_ROWS - len(rows))
        whole = pad(whole, (0, -self.in_features % MULTIPLE, 0, missing))
        sums = torch._int_mm(whole, self.weight)[: len(rows), : self.out_features]
        outputs = (sums * scale * self.scale).to(inputs.dtype)
        if self.bias is not None:
            outputs = outputs + self.bias
        return outputs.reshape(*inputs.shape[:-1], self.out_features)


def quantised(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows as whole numbers up to 127, and what each row's must be multiplied with."""
    numbers = rows.float()
    scale = numbers.abs().amax(dim=-1, keepdim=True) / LARGEST
    scale = scale.clamp(min=LEAST_SCALE)  # a row of zeros
    return (numbers / scale).round().to(torch.int8), scale
