"""The job manager: the one owner of the queue's state. A file per concern, all around one board."""
