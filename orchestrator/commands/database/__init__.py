"""`database`: checks, snapshots, retention and rebuilding of the database."""
