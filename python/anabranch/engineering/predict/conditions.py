"""From a path there and back to its quality, and the conditions under which TCPBP's route is better than another (section 4.3)."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.engineering.predict.arrays import array, arrays, plain, refuse
from anabranch.engineering.predict.models import mathis
from anabranch.foundation.array_types import Booleans, Floats


class RoundTrip(NamedTuple):
    """Delay and loss there and back: seconds and a ratio, numbers or arrays."""

    rtt_s: float | Floats
    loss: float | Floats


class PathQuality(NamedTuple):
    """Quality of a route for flows: numbers or arrays that broadcast."""

    rtt_s: npt.ArrayLike
    """Round-trip time, seconds."""
    loss: npt.ArrayLike
    """Ratio of packets lost; TCPBP counts both ways, as :func:`round_trip` does."""
    available_bps: npt.ArrayLike = inf
    """Available bandwidth, bit/s, that the flows of the route share (ABW); at least 0."""


class Advantage(NamedTuple):
    """How a new route compares with an old one; numbers, or arrays."""

    condition_i: bool | Booleans
    """For one flow the new route is better: min(TP, ABW) is greater."""
    condition_ii: bool | Booleans
    """For each of ``flows`` flows the new route is better: min(TP, ABW / flows) is greater."""
    condition_iii: bool | Booleans
    """The share of the new route's available bandwidth, ABW / ``flows``, is above what a flow gets on the old route."""
    gain: float | Floats
    """Rate of each of ``flows`` flows on the new route, over that on the old one; 1 where they are equal."""
    n_f: float | Floats
    """The number of flows up to which the new route is better: 0 if not even for one, infinite if for any number."""


def round_trip(
    delay_forward: npt.ArrayLike,
    loss_forward: npt.ArrayLike,
    delay_back: npt.ArrayLike,
    loss_back: npt.ArrayLike,
) -> RoundTrip:
    """The round trip of a path and the path back: the sum of the delays, 1 - (1 - p_forward) (1 - p_back).

    Delays in seconds, at least 0; losses at least 0 and less than 1. :class:`ValueError` names what is not. (TCPBP, section 2.3.)
    """
    names = ("delay_forward", "loss_forward", "delay_back", "loss_back")
    given = (delay_forward, loss_forward, delay_back, loss_back)
    rtt, loss = _core.round_trip(*arrays(dict(zip(names, given, strict=True))))
    return RoundTrip(plain(rtt), plain(loss))


def advantage(
    new: PathQuality,
    old: PathQuality,
    *,
    flows: npt.ArrayLike = 1,
    model: Callable[..., float | Floats] = mathis,
    mss_bytes: npt.ArrayLike = 1460,
) -> Advantage:
    """TCPBP's conditions (i) to (iii) for a new route (its own) against an old one (a single metric's), section 4.3.

    TP = ``model(rtt_s, loss, mss_bytes=...)`` is the predicted rate of a flow that is alone. The paper does not define BW, an average per
    flow. Here it is the rate of each of n equal flows that share a route: BW(n) = min(TP, ABW / n). As in the paper's tests, n is the
    same on both routes:

    - (i) is BW_new(1) > BW_old(1);
    - (ii) is BW_new(n) > BW_old(n);
    - (iii) is ABW_new / n > BW_old(n), the part of (ii) that the available bandwidth decides.

    Without (i), n_f is 0. With (i), (ii) holds for n = 1, 2, ... up to n_f without a gap. If ABW_new > ABW_old, it holds for any n.
    Otherwise (i) makes TP_new > TP_old, and (ii) becomes ABW_new / n > TP_old. So n_f is the greatest n below ABW_new / TP_old.

    The conditions compare a route with the route that it would replace, for the same flows. They ignore other flows, and the queues and
    losses of flows that fill a link. Where (i) fails, a route with less TP but more ABW can still be better for many flows; (ii) shows
    it for a given number.

    :class:`ValueError` names a value that is out of bounds.
    """
    count = array("flows", flows)
    refuse(
        "flows", count, ~((count >= 1) & (count == np.floor(count)) & np.isfinite(count)), "a whole number, at least 1"
    )
    new_alone, new_shared = _rate(new, "new", model, mss_bytes)
    old_alone, old_shared = _rate(old, "old", model, mss_bytes)
    on_new, on_old = np.minimum(new_alone, new_shared / count), np.minimum(old_alone, old_shared / count)
    better_alone = np.minimum(new_alone, new_shared) > np.minimum(old_alone, old_shared)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(on_new == on_old, 1.0, on_new / on_old)
    n_f = np.where(better_alone, np.where(new_shared > old_shared, inf, _greatest_count(new_shared, old_alone)), 0.0)
    results = (better_alone, on_new > on_old, new_shared / count > on_old, gain, n_f)
    return Advantage(*(plain(result) for result in np.broadcast_arrays(*results)))


def _rate(
    quality: PathQuality, which: str, model: Callable[..., float | Floats], mss_bytes: npt.ArrayLike
) -> tuple[Floats, Floats]:
    available = array(f"{which}.available_bps", quality.available_bps)
    refuse(f"{which}.available_bps", available, ~(available >= 0), "at least 0")
    try:
        return np.asarray(model(quality.rtt_s, quality.loss, mss_bytes=mss_bytes), dtype=np.float64), available
    except ValueError as error:
        raise ValueError(f"{which}.{error}") from None


def _greatest_count(shared: Floats, each: Floats) -> Floats:
    """The greatest n with ``shared`` / n > ``each``, and no less than 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.maximum(np.ceil(shared / each) - 1, 0)
        # The quotient may be rounded over a whole number; what decides is the inequality itself.
        count = np.where((count > 0) & ~(shared / count > each), count - 1, count)
        greatest: Floats = count + (shared / (count + 1) > each)
    return greatest
