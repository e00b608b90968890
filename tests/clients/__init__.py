"""Official clients of the formats, each reading through the middleware in a process of its own."""
