"""Charts of predictions."""
