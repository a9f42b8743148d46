"""Readers of memory, state and energy, one module per vendor of the hardware."""
