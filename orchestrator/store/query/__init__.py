"""Reading the database: SQL, exports, records, coverage."""
