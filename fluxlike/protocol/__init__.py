"""What the wire looks like: the message codec and one class per topic and direction."""
