"""Correctness of outputs: their distance from a reference in fp32 on the CPU."""
