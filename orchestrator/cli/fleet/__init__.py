"""The commands of a fleet."""
