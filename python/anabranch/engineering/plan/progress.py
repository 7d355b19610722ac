"""Shows the progress of a search for plans on standard error."""

from anabranch.engineering.plan.model import Plan
from anabranch.foundation.progress import StatusLine


class Moves(StatusLine):
    """Shows what is searched for, and the most time that is left for it."""

    def __init__(self) -> None:
        """The clock starts."""
        super().__init__()
        self._began_at_s = 0.0
        self._best = ""

    def __enter__(self) -> "Moves":
        """Begin."""
        return self

    def __call__(self, what: str, done: float) -> None:
        """Report that this share of the most possible work for a plan is done."""
        if done == 0:
            self._began_at_s = self.elapsed_s()
        taken = self.elapsed_s() - self._began_at_s
        left = f": at most {taken * (1 - done) / done:.0f} s left" if done > 0 else ""
        self.say(f"{what}{left}{self._best}")

    def improved(self, plan: Plan) -> None:
        """Show the best plan for the present load, too."""
        self._best = (
            f"; best: {plan.total_bps / 1e6:.4g} of at most {plan.most_bps / 1e6:.4g} Mbit/s, load {plan.worst_case_load:.4f} "
            f"(least {plan.lower_bound:.4f}), {plan.single_pairs} of {plan.pairs} pairs on single paths"
        )
