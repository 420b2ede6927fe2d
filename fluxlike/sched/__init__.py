"""Which job goes first, and where: requests, the scheduler's interface, and the first-come scheduler."""
