"""Shows both bounds as they close, on standard error."""

from anabranch.progress import StatusLine


class Bounds(StatusLine):
    """Shows the bounds of the worst-case load."""

    def __enter__(self) -> "Bounds":
        """Begin."""
        return self

    def __call__(self, lower: float, upper: float, what: str) -> None:
        """The worst-case load lies between the two."""
        gap = (upper - lower) / upper if upper > 0 else 0.0
        self.say(f"worst-case load {lower:.6f} to {upper:.6f}, gap {gap:.2%}, {self.elapsed_s():.0f} s; {what}")
