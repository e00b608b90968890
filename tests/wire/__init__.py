"""Tests of the wire formats, one module for each of theirs."""
