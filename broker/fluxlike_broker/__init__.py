"""The broker: messaging, decisions, state. It never runs a user's program; the executor does."""
