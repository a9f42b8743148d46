"""This machine, its images, models and words on a terminal."""
