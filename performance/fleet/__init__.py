"""A fleet's promises: the dispatcher simulated, and transports, deaths and drivers for real."""
