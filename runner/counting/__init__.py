"""Counting: arithmetic, memory and weights of a model's passes, found without a device."""
