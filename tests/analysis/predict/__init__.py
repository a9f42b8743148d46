"""Tests of predictors."""
