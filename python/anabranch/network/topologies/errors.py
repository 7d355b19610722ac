"""The one error of this package."""

_LONGEST = 80


class TopologyError(ValueError):
    """A topology that cannot be used: where it is from, which element, which value, and what would be right."""

    def __init__(self, source: str, element: str, value: object, expectation: str) -> None:
        """``source`` is a file or a name, ``element`` a place in it, ``value`` what stands there, if anything."""
        self.source = source
        self.element = element
        self.value = value
        self.expectation = expectation
        shown = "" if value is None else f" = {_shown(value)}"
        super().__init__(f"{source}: {_cut(element, 2 * _LONGEST)}{shown}: {_cut(expectation, 5 * _LONGEST)}")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or a structure nested as deep
        text = f"<{type(value).__name__}>"
    return _cut(text, _LONGEST)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
