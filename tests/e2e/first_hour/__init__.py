"""The first hour: what new users want, in the commands that they would type."""
