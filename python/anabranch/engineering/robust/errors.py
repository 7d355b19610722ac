"""Errors of robust routing."""


class RobustError(ValueError):
    """A network, traffic model or choice of paths that has no robust routing; the message says what would be right."""


_LONGEST = 80


def shortened(text: str) -> str:
    """A value for a message, cut off where it is longer than a reader needs."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
