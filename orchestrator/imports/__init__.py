"""Reads measurements that other benchmarks wrote, and says of each file what became of it."""
