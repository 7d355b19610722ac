"""Errors that end a sweep."""


class SweepError(ValueError):
    """A sweep that cannot begin or go on: says what would be right."""
