"""What a job asks for: resources, tasks and attributes (RFC 14, RFC 25). Nothing is imported here."""
