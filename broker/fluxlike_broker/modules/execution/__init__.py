"""Execution: an agent on every rank speaks to its executor; the leader on rank 0 follows every job's tasks."""
