"""``anabranch predict``."""

from dataclasses import dataclass
from math import inf
from typing import Annotated

from cyclopts import Group, Parameter

from anabranch.cli.exit_status import DONE, UsageError
from anabranch.cli.options import Json, Share, Whole, seconds
from anabranch.cli.output import json_text, say
from anabranch.foundation.text_table import TextTable, print_table, quantity

_OPTIONS = {
    "rtt_s": "--rtt",
    "loss": "--loss",
    "mss_bytes": "--mss",
    "packets_per_ack": "--packets-per-ack",
    "timeout_s": "--timeout",
    "max_window": "--max-window",
}
"""The options by the parameters of the formulas, which messages name."""

PATH, TRANSPORT = Group("Path", sort_key=1), Group("Transport", sort_key=2)


@Parameter(name="*", group=TRANSPORT)
@dataclass(frozen=True)
class Transport:
    """Parameters of the formulas that do not describe the path."""

    mss: Annotated[Whole, Parameter(help="Payload of a full segment, bytes.")] = 1460
    packets_per_ack: Annotated[float, Parameter(help="Packets that an ACK stands for; delayed ACKs: 2.")] = 1
    timeout: Annotated[str | None, Parameter(help="First timeout (default the RTT, at least 200ms).")] = None
    max_window: Annotated[float, Parameter(help="The receiver's window, segments.")] = inf


def predict(
    *,
    rtt: Annotated[str, Parameter(group=PATH, help="Round-trip time, such as 50ms.")],
    loss: Annotated[
        Share, Parameter(group=PATH, help="Ratio of packets lost, at least 0 and less than 1: 0.01 or 1%.")
    ],
    transport: Transport = Transport(),
    json: Json = False,
) -> int:
    """Predict the rate of one TCP flow from round-trip time and loss, by all models, with their ranges of validity.

    A whole scenario is predicted by anabranch run SCENARIO --engine predict.
    """
    from anabranch.engineering.predict.table import predictions

    try:
        found = predictions(
            seconds("--rtt", rtt),
            loss,
            mss_bytes=transport.mss,
            packets_per_ack=transport.packets_per_ack,
            timeout_s=None if transport.timeout is None else seconds("--timeout", transport.timeout),
            max_window=transport.max_window,
        )
    except ValueError as error:
        parameter, _, rest = str(error).partition(" ")
        raise UsageError(f"{_OPTIONS.get(parameter, parameter)} {rest}") from None
    if json:
        print(json_text({"predictions": [one.record() for one in found]}))
        return DONE
    rows = [
        (one.model, "no limit" if one.rate_bps == inf else quantity(one.rate_bps, "bit/s"), *one.cells())
        for one in found
    ]
    print_table(TextTable(("model", "rate", "segments", "least loss", "greatest", "holds"), rows, text_columns=1))
    for one in found:
        if one.note:
            say(f"{one.model}: a loss of {loss:g} is {one.note}")
    return DONE
