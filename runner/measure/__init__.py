"""Instruments of a measurement: clock, phases, memory, energy, noise, statistics, grade."""
