"""Tables, columns and views: what a database is made of, and how older ones become it."""
