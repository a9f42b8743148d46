"""Predictions of what was not measured: train a predictor, ask it, look into it."""
