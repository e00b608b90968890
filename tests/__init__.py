"""The tests: one file per room, and the tables, surfaces and splits they share."""
