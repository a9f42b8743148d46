"""PyTorch: transformers models, executed eagerly, or by `torch.compile` in `compile`."""

from runner.backends.torch.backend import is_out_of_memory, open_session

__all__ = ["is_out_of_memory", "open_session"]
