"""Whatever is read: questions in SQL, exports, records as values, and what is covered."""
