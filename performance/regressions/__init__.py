"""Regression verdicts on simulated runs and series, judged by `analysis.regress`."""
