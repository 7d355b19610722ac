"""What can be wrong with a question of robust routing."""


class RobustError(ValueError):
    """A network, traffic model or choice of paths that has no robust routing; the message says what would be right."""
