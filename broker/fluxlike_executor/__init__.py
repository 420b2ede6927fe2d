"""The small program that alone touches user processes (docs/rfc/003). Standard library and msgpack only."""
