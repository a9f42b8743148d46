"""Evaluation of predictors on results that they did not know, beside simple baselines."""
