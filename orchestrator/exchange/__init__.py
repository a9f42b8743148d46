"""Results of other benchmarks, and archives for other people."""
