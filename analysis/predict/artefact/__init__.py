"""A predictor as files of text, and back: JSON and LightGBM's own format, nothing that executes."""
