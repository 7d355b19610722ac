"""Lines about what failures do: the pairs whose traffic they cut, and how probable that is."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from anabranch.foundation.text_table import count

if TYPE_CHECKING:
    from anabranch.engineering.robust import Network
    from anabranch.engineering.robust.failures import AfterFailure

_SHOWN = 3


def lost_lines(network: "Network", load_before: float, after: "Sequence[AfterFailure]") -> Iterator[str]:
    """After how many failures traffic is lost, and for some of them which pairs have it; and the availability, if failures have probabilities."""
    from anabranch.engineering.robust.failures import availability

    known = availability(load_before, after)
    if known is not None:
        yield f"within capacity  with probability {known.within_capacity:.9g}, no traffic lost; {1 - known.judged:.2g} are several failures at once"
    lost = [one for one in after if one.lost_pairs]
    if not lost:
        return
    yield f"lost traffic     after {count(len(lost), 'failure')}; --json has all pairs"
    for one in sorted(lost, key=lambda one: -len(one.lost_pairs))[:_SHOWN]:
        names = ", ".join(network.pair_name(pair) for pair in one.lost_pairs[:_SHOWN])
        more = f" and {len(one.lost_pairs) - _SHOWN} more" if len(one.lost_pairs) > _SHOWN else ""
        yield f"                 {one.failure.name} cuts {names}{more}"
