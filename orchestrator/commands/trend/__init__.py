"""`trend`: a metric of each series over time."""
