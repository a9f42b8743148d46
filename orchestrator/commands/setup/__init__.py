"""Use cases about this installation: doctor, models, GitHub runners."""
