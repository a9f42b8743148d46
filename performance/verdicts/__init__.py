"""Simulated comparisons and series, judged by `analysis.regressions`."""
