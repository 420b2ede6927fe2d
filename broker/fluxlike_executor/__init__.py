"""The small program that alone touches user processes: standard library and msgpack, nothing else (docs/rfc/003)."""
