"""Shows both bounds as they close, on standard error."""

from anabranch.foundation.progress import STATUS_INTERVAL_S, Ticking


class BoundsProgress(Ticking):
    """Shows the bounds of the worst-case load, and for how long they have been sought: a program may take minutes."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        super().__init__(STATUS_INTERVAL_S)
        self._bounds = ""
        self._what = "starting"

    def __call__(self, lower: float, upper: float, what: str) -> None:
        """The worst-case load lies between the two."""
        gap = (upper - lower) / upper if upper > 0 else 0.0
        self._bounds, self._what = f"worst-case load {lower:.6f} to {upper:.6f}, gap {gap:.2%}, ", what

    def status(self) -> str:
        """The bounds, the time, and what is done."""
        return f"{self._bounds}{self.elapsed_s():.0f} s; {self._what}"
