"""Shows the best load so far, on standard error."""

from anabranch.foundation.progress import STATUS_INTERVAL_S, Ticking


class SearchProgress(Ticking):
    """Shows the least greatest load so far, how many weights were tried, and the time."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        super().__init__(STATUS_INTERVAL_S)
        self._found = "optimal flow"

    def __call__(self, load: float, tries: int) -> None:
        """The best weights so far make this load."""
        self._found = f"greatest load {load:.6f}, {tries:,} weights tried"

    def status(self) -> str:
        """The best so far, and the time."""
        return f"{self._found}, {self.elapsed_s():.0f} s"
