"""Modules that pose as packages which are not installed; they know nothing of the tests."""
