"""What a job is and what follows from its events. Pure: no clock, no socket, no store."""
