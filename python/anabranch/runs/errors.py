"""What cannot be run."""


class RunError(ValueError):
    """What an engine refuses, or an argument that cannot be used."""
