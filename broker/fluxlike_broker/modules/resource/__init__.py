"""Resources: which nodes there are, which are up, and which are drained."""
