"""Record files become rows."""
