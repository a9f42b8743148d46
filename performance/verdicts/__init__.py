"""Simulated comparisons and series, judged by `analysis.regress`."""
