"""Errors that end a sweep."""


class SweepError(ValueError):
    """A sweep that cannot begin or continue: says what would be right."""
