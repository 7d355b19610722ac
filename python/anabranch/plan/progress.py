"""Shows the progress of a search for plans on standard error."""

from anabranch.progress import StatusLine


class Moves(StatusLine):
    """Shows each search's share done and time left."""

    def __init__(self) -> None:
        """The clock starts."""
        super().__init__()
        self._search_began_s = 0.0

    def __enter__(self) -> "Moves":
        """Begin."""
        return self

    def __call__(self, what: str, done: float) -> None:
        """Report that this share of a search is done."""
        if done == 0:
            self._search_began_s = self.elapsed_s()
        taken = self.elapsed_s() - self._search_began_s
        left = f", {taken * (1 - done) / done:.0f} s left of this search" if done > 0 else ""
        self.say(f"{what}, {done:.0%}{left}")
