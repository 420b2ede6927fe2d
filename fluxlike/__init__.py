"""fluxlike: a Flux-style hierarchical resource manager."""

__version__ = "0.1.0"
