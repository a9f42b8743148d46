"""PyTorch: eager and torch.compile."""
