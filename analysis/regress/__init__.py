"""Regressions: what became slower between two runs, by launches and the noise between them."""
