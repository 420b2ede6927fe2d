"""The life of a broker as a table."""
