"""What Linux refuses."""


class NetworkError(ValueError):
    """Linux lacks what a network needs, or refuses it."""
