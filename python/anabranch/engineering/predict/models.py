"""The prediction functions: the rate of one bulk flow, bit/s, from the round-trip time and the loss ratio of its path.

Every function has these arguments, numbers or arrays that broadcast as in numpy, and returns a number or an array:

- ``rtt_s``: round-trip time, seconds, above 0;
- ``loss``: ratio of packets lost, at least 0 and less than 1. Without loss ``max_window`` limits the rate,
  which is infinite where it is;
- ``mss_bytes``: payload of a full segment, bytes, above 0;
- ``max_window``: the most segments that may be in flight (the receiver's window), above 0 or infinite.

Others are with the function. A value outside its bounds raises :class:`ValueError`, which names the argument, the first such
value and its place. A loss outside the range for which a model was found to hold (:func:`anabranch.engineering.predict.validity`) is computed
all the same.
"""

from math import inf

import numpy.typing as npt

from anabranch import _core
from anabranch.engineering.predict.arrays import arrays, plain
from anabranch.engineering.predict.registry import MODELS
from anabranch.foundation.array_types import Floats


def mathis(
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    *,
    mss_bytes: npt.ArrayLike = 1460,
    packets_per_ack: npt.ArrayLike = 1,
    max_window: npt.ArrayLike = inf,
) -> float | Floats:
    """Reno without timeouts, the inverse-square-root law: MSS / RTT * sqrt(3/2b) / sqrt(p).

    Mathis, Semke, Mahdavi, Ott 1997, equation 3; TCPBP, equation 1. For losses of 1e-5 to 0.05: with less, windows become larger
    than paths and receivers hold; with more, timeouts count. ``packets_per_ack`` is b, at least 1; delayed ACKs make it 2.
    """
    return _rate("mathis", rtt_s, loss, mss_bytes, max_window, packets_per_ack=packets_per_ack)


def padhye(
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    *,
    timeout_s: npt.ArrayLike,
    mss_bytes: npt.ArrayLike = 1460,
    packets_per_ack: npt.ArrayLike = 1,
    max_window: npt.ArrayLike = inf,
) -> float | Floats:
    """Reno with timeouts and the receiver's window, the full model (PFTK): what is sent, of which 1 - p arrives.

    Padhye, Firoiu, Towsley, Kurose 1998, section 2.3. For losses of 1e-5 to 0.05 (TCPBP, section 3; its authors say only that
    it is accurate over a wider range than models without timeouts). ``timeout_s`` is T0, the first timeout of a sequence, above
    0: RFC 6298 makes it a second at least, Linux the RTT and 200 ms, RFC 5348 proposes four RTT. ``packets_per_ack`` is b, at
    least 1. Where ``max_window`` begins to limit, the model has a step: its two counts of round trips a period differ by (2 - b) / 4.
    """
    extra = {"timeout_s": timeout_s, "packets_per_ack": packets_per_ack}
    return _rate("padhye", rtt_s, loss, mss_bytes, max_window, **extra)


def padhye_short(
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    *,
    timeout_s: npt.ArrayLike,
    mss_bytes: npt.ArrayLike = 1460,
    packets_per_ack: npt.ArrayLike = 1,
    max_window: npt.ArrayLike = inf,
) -> float | Floats:
    """Reno with timeouts, the approximation of the full model.

    MSS / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)): Padhye et al. 1998, section 2.3; RFC 5348, section 3.1 (which
    leaves out the window and the minimum). Arguments and range are those of :func:`padhye`, from which it differs by at most
    0.3 sqrt(p) (measured, for losses up to 0.03, b from 1 to 2, T0 from 1 to 20 RTT).
    """
    extra = {"timeout_s": timeout_s, "packets_per_ack": packets_per_ack}
    return _rate("padhye_short", rtt_s, loss, mss_bytes, max_window, **extra)


def cubic(
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    *,
    mss_bytes: npt.ArrayLike = 1460,
    max_window: npt.ArrayLike = inf,
    c: npt.ArrayLike = 0.4,
    beta: npt.ArrayLike = 0.7,
) -> float | Floats:
    """CUBIC: the greater of (C (3 + beta) / (4 (1 - beta)) (RTT / p)^3)^(1/4) and Reno's window, a round trip.

    RFC 9438, section 5, equation 5, and the Reno-friendly region of section 4.3. For losses of 1e-8 (its tables) to 0.05 (TCPBP,
    section 3). ``c`` is above 0, ``beta`` between 0 and 1. The number of ACKs does not matter to it.
    """
    return _rate("cubic", rtt_s, loss, mss_bytes, max_window, c=c, beta=beta)


def highspeed(
    rtt_s: npt.ArrayLike, loss: npt.ArrayLike, *, mss_bytes: npt.ArrayLike = 1460, max_window: npt.ArrayLike = inf
) -> float | Floats:
    """HighSpeed TCP: its response function, about 0.12 / p^0.835 segments a round trip, or Reno's where that is greater.

    RFC 3649, section 5, through (38, 1e-3) and (83000, 1e-7). For losses of 1e-10 (its table) to 0.05 (TCPBP, section 3). The
    response function alone is ``response(..., **LAWS["highspeed"]._asdict())``. TCPBP's exponent of 0.82 is that of an earlier draft.
    """
    return _rate("highspeed", rtt_s, loss, mss_bytes, max_window)


def scalable(
    rtt_s: npt.ArrayLike, loss: npt.ArrayLike, *, mss_bytes: npt.ArrayLike = 1460, max_window: npt.ArrayLike = inf
) -> float | Floats:
    """Scalable TCP: its response function, 0.08 / p segments a round trip, or Reno's where that is greater.

    Kelly 2003, section 2, for losses at random; losses at even distances leave 6 % less. Up to a loss of 0.05 (TCPBP, section 3);
    no lower end is published.
    """
    return _rate("scalable", rtt_s, loss, mss_bytes, max_window)


def linear(
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    *,
    p_max: npt.ArrayLike = 1e-5,
    mss_bytes: npt.ArrayLike = 1460,
    packets_per_ack: npt.ArrayLike = 1,
    max_window: npt.ArrayLike = inf,
) -> float | Floats:
    """Reno with the linear regime: 1/p up to a loss of ``p_max``, the inverse-square-root law from there to 0.05.

    TCPBP, section 3, which cites Zaragoza 2006 ("Challenging the square-root law for TCP send-rate") and gives neither constant nor
    ``p_max``. With the constant here, sqrt(3/2b) sqrt(p_max), both laws meet at ``p_max``. Below it, a flow loses packets
    as often in time as at ``p_max``. The default of ``p_max`` is the least loss for which TCPBP takes the other law to hold.
    Both are a reading, not a finding.
    """
    return _rate("linear", rtt_s, loss, mss_bytes, max_window, packets_per_ack=packets_per_ack, p_max=p_max)


def response(
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    *,
    c: npt.ArrayLike,
    y: npt.ArrayLike,
    mss_bytes: npt.ArrayLike = 1460,
    max_window: npt.ArrayLike = inf,
) -> float | Floats:
    """Any response function: c / p^y segments a round trip.

    Xu, Harfoush, Rhee 2004, section II; TCPBP, section 3. ``c`` is above 0, ``y`` at least 0; :data:`anabranch.engineering.predict.LAWS` has them
    for some congestion controls. Up to a loss of 0.05, unless what ``c`` and ``y`` come from says less.
    """
    return _rate("response", rtt_s, loss, mss_bytes, max_window, c=c, y=y)


def _rate(
    name: str,
    rtt_s: npt.ArrayLike,
    loss: npt.ArrayLike,
    mss_bytes: npt.ArrayLike,
    max_window: npt.ArrayLike,
    **extra: npt.ArrayLike,
) -> float | Floats:
    given = {"mss_bytes": mss_bytes, "rtt_s": rtt_s, "loss": loss, "max_window": max_window} | extra
    values, shape = arrays({argument: given[argument] for argument in MODELS[name].arguments})
    return plain(_core.predict(name, values, shape))
