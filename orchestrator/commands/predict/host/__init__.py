"""This machine, as a database and its predictor know it."""
