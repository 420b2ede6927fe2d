"""Which resources there are and who holds them: the resource set R and what is derived from it."""
