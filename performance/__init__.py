"""Measurements of AccelMatrix itself: promised ratios, run by `make performance`."""
