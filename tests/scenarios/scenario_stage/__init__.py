"""The real job manager between a store that commits by hand, a clock that stands still and an execution that only
takes notes. A scenario tells it what to do and compares what it did."""
