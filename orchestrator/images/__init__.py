"""The images that jobs execute in: named by backend and version, built, pulled, pushed, pruned."""
