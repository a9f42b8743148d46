"""The database file: connections, locks, transactions, backups."""
