"""Statistics of raw durations."""
