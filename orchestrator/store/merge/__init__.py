"""Record files become rows of the database."""
