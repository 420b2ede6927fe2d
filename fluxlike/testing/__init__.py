"""Fakes and builders for tests, shipped so that programs built on fluxlike can use them too."""
