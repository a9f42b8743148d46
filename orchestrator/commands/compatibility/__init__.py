"""`compatibility`: how well each model works on each backend, and families of models."""
