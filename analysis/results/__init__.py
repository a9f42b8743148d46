"""Results as analysis sees them: their columns, series and metrics, and where they come from."""
