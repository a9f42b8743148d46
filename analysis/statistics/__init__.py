"""Statistics of results: ratios with their intervals."""
