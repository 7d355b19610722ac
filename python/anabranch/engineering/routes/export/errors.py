"""The one error of this package."""


class ExportError(ValueError):
    """Routes that a format cannot express, an option or a directory that cannot be used; says what would be right."""


def pair(source: str, target: str) -> str:
    """How errors and warnings name an ordered pair of nodes."""
    return f"{source!r} -> {target!r}"
