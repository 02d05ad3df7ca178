"""Suites that every back end must pass."""
