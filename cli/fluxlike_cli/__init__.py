"""The command line of fluxlike: parse, make one client call, hand the answer to a renderer."""
