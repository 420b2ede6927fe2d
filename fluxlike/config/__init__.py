"""What an operator may choose: settings and their reasons, keys, and the readers of files and environment."""
