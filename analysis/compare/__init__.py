"""Comparisons: results of one question side by side, as ratios with intervals."""
