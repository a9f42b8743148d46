"""The acceptance evaluation of predictors, on results that others measured and on our own."""
