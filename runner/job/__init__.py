"""One job from its JSON file to its records."""
