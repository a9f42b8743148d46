"""Health of a database: validation, repair, quarantine, snapshots, deletion, vacuum."""
