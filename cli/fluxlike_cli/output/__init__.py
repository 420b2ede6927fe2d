"""Renderers: values in, text on standard output. Commands parse and ask; these show."""
