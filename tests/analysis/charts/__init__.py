"""Tests of the analysis: pure functions over values."""
