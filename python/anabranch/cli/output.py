"""Output of commands: messages on standard error, one JSON document on standard output."""

import sys
from typing import Any

from anabranch.foundation.printable import printable, printable_json


def say(message: str) -> None:
    """A message, at once."""
    print(printable(message), file=sys.stderr, flush=True)


def tell(text: object = "", end: str = "\n", flush: bool = False) -> None:
    """A result for people, on standard output."""
    print(printable(str(text)), end=end, flush=flush)


def load_text(load: float, decimals: int = 6) -> str:
    """A load with this number of decimals. A small load has this number of digits instead, so that a millionth is not printed as 0."""
    return f"{load:.{decimals}f}" if load == 0 or load >= 0.001 else f"{load:.{decimals}g}"


def mbps(rate_bps: float) -> str:
    """A rate in Mbit/s, a large one in Gbit/s."""
    return f"{rate_bps / 1e6:.4g} Mbit/s" if rate_bps < 1e10 else f"{rate_bps / 1e9:.4g} Gbit/s"


def json_text(document: Any) -> str:
    """A document as all commands print and write it. An infinite number is a :class:`ValueError`: JSON has none."""
    import json

    return printable_json(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str))
