"""Many jobs from one command line and lists of inputs: what `bulksubmit` is made of."""
