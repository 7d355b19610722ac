"""The verdict of the page: its sentences, with numbers from the cells."""

import polars as pl

from bench.spraying.cells import COSTS, GOODPUT, TIMES
from bench.spraying.tables import DETECTORS, Lead

COUNTING, BY_PATHS = DETECTORS["three duplicate ACKs"], DETECTORS["path count"]
WAITING = ("RACK-TLP as in Linux", "FastRTO", "TCP-PR")
"""The detectors that wait for late segments by a time."""
LOSS_BASED = tuple(stack for detector in WAITING for stack in DETECTORS[detector][:2])
BBR = tuple(DETECTORS[detector][2] for detector in WAITING)


def sentences(cells: pl.DataFrame) -> str:
    """The verdict as a list in Markdown."""
    none, some, much = (cells.filter(loss_percent=loss) for loss in (0.0, 0.1, 1.0))
    unequal, four = cells.filter(delays="unequal"), none.filter(paths=4, delays="unequal")
    lost = cells.filter(pl.col("loss_percent") > 0)
    long = Lead.of(none, GOODPUT, "linux-cubic")
    window = Lead.of(cells, GOODPUT, "cubic-fast-rto")
    lines = [
        "**Counting three duplicate ACKs does not survive paths of unequal delay.** With Reno's or CUBIC's window a long flow has "
        f"{_range(unequal, *COUNTING[:2])} of what the paths carry, with BBR's {_range(unequal, COUNTING[2])}. A threshold that depends on the number "
        f"of paths raises this to {_range(unequal, *BY_PATHS)}. Over equal paths in turn nothing is reordered, and counting does no harm.",
        f"**Linux of today survives.** Without loss, `linux-bbr` has {_range(none, 'linux-bbr')} and `linux-cubic` {_range(none, 'linux-cubic')}. "
        f"Over four unequal paths `linux-cubic` has {_range(four, 'linux-cubic')}.",
        "**With random loss the window decides, not the detector.** With Reno's or CUBIC's window, the three detectors that wait have "
        f"{_range(some, *LOSS_BASED)} at a loss of 0.1 %, and {_range(much, *LOSS_BASED)} at 1 %. MPRC has {_range(some, 'mprc')} and "
        f"{_range(much, 'mprc')}, `linux-cubic` {_range(some, 'linux-cubic')} and {_range(much, 'linux-cubic')}: MPRC is as slow as CUBIC. BBR's window has {_range(lost, *BBR)} with the same detectors.",
        f"**MPRC wins for long flows over unequal paths without loss.** Over four of them it has {_range(four, 'mprc')}. Of the {len(long.gains)} conditions without loss it is ahead of "
        f"`linux-cubic` under {long.ahead} conditions, level under {long.level} and behind under {long.behind}: its goodput differs by {long.spread}. It "
        f"sends less in vain. At most {_most(cells, 'mprc')} of its segments are spurious, of `linux-cubic`'s {_most(cells, 'linux-cubic')}, and of "
        f"`linux-bbr`'s {_most(cells, 'linux-bbr')}.",
        "**Short transfers are no reason for MPRC.** Under all conditions, with and without loss, it is ahead of `linux-cubic` / level / behind: "
        f"{'; '.join(_transfers(cells, name) for name in TIMES)}.",
        f"**FastRTO is better than MPRC.** Beside the same detector with CUBIC's window, MPRC is ahead under {window.ahead} of {len(window.gains)} "
        f"conditions and behind under {window.behind}: its goodput differs by {window.spread}. With BBR's window it has {_range(lost, 'bbr-fast-rto')} over paths with loss.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _range(cells: pl.DataFrame, *stacks: str) -> str:
    """The least and the greatest goodput of stacks."""
    shares = cells.filter(pl.col("stack").is_in(stacks))[GOODPUT].to_list()
    least, greatest = f"{min(shares):.0f}", f"{max(shares):.0f}"
    return f"{least} %" if least == greatest else f"{least} to {greatest} %"


def _most(cells: pl.DataFrame, stack: str) -> str:
    return f"{max(cells.filter(stack=stack)[COSTS[0]].to_list()):.2g} %"


def _transfers(cells: pl.DataFrame, name: str) -> str:
    lead = Lead.of(cells, TIMES[name], "linux-cubic")
    return f"{name} {lead.ahead} / {lead.level} / {lead.behind} (speed {lead.typical} in the median)"
