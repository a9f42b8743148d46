"""Statistics of raw durations: summaries, spread, percentiles and their intervals."""
