"""Output of jobs: a spool file per job on rank 0, outside the queue's path."""
