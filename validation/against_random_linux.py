"""The presets of Linux against real Linux over random networks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles

from bench.peers.linux import kernel
from bench.table import Table
from validation.against_real_linux import CELL_TOLERANCE, MEDIAN_TOLERANCE, both_sides
from validation.random_networks import Network, network, run_here, run_linux
from validation.real_linux_cells import DURATION_S, Run
from validation.section import Section, percent

NETWORKS = 100
Kind = Callable[[Network], bool]
KINDS: Sequence[tuple[str, Kind]] = (
    ("one flow", lambda net: len(net.flows) == 1),
    ("several flows of one control", lambda net: len(net.flows) > 1 and len({flow.control for flow in net.flows}) == 1),
    ("several controls", lambda net: len({flow.control for flow in net.flows}) > 1),
    ("several links", lambda net: len(net.hops) > 1),
    ("losses", lambda net: any(flow.loss > 0 for flow in net.flows)),
    ("marks", lambda net: net.ecn),
    ("slow links for ACKs", lambda net: net.ack_share is not None),
    ("queues of at most 8 packets", lambda net: min(hop.queue_packets for hop in net.hops) <= 8),
    ("all", lambda net: True),
)


@dataclass(frozen=True)
class Compared:
    """Both sides of a network, run by run."""

    net: Network
    theirs: Sequence[Run]
    ours: Sequence[Run]

    @property
    def total(self) -> float:
        """Our goodput of all flows over Linux's."""
        return sum(map(sum, _goodputs(self.ours))) / sum(map(sum, _goodputs(self.theirs)))

    @property
    def flows(self) -> list[float]:
        """How far the mean goodput of each flow is from Linux's, relative."""
        means = (map(fmean, zip(*_goodputs(runs), strict=True)) for runs in (self.theirs, self.ours))
        return [abs(ours / theirs - 1) for theirs, ours in zip(*means, strict=True) if theirs > 0]

    @property
    def spread(self) -> list[float]:
        """How far the goodput of each flow in Linux's first run is from the mean of its others, relative."""
        first, *others = _goodputs(self.theirs)
        if not others:
            return [0.0] * len(first)
        means = map(fmean, zip(*others, strict=True))
        return [abs(one / mean - 1) for one, mean in zip(first, means, strict=True) if mean > 0]


def _goodputs(runs: Sequence[Run]) -> list[tuple[float, ...]]:
    return [run.goodput_bps for run in runs]


def run(quick: bool) -> Section:
    """Random networks."""
    compared = _compared([network(number) for number in range(8 if quick else NETWORKS)])
    of_kind = [(name, [one for one in compared if is_kind(one.net)]) for name, is_kind in KINDS]
    deviations = [abs(one.total - 1) for one in compared]
    return Section(
        key="real-linux-networks",
        title="Random networks against real Linux",
        model=f"Linux {kernel.version(kernel.built()[0])}",
        how=(
            f"{len(compared)} random networks: a chain of one to three links of 1 to 40 Mbit/s with queues from 3 packets on, one to eight flows that cross some of them, "
            f"all congestion controls but CDG, RTTs of 2 to 300 ms, losses of up to 3 %, marks, slow links for ACKs, and flows that end. Each runs {DURATION_S} s, and four times with other "
            "starts and losses. Nothing was fitted to these networks. A flow's goodput is its mean over the four runs. The spread is how far one run of Linux is from the mean of the "
            "others. The other settings are those of one flow above."
        ),
        columns=(
            "networks",
            "number",
            "goodput of all flows: median deviation",
            "greatest",
            "of each flow: median",
            "90 %",
            "spread in Linux: median",
            "90 %",
            "retransmissions, ours / Linux",
            "timeouts",
        ),
        rows=[
            (
                name,
                str(len(some)),
                _percent(median(abs(one.total - 1) for one in some)),
                _percent(max(abs(one.total - 1) for one in some)),
                *_two([value for one in some for value in one.flows]),
                *_two([value for one in some for value in one.spread]),
                _ratio(some, lambda run: run.retransmits),
                _ratio(some, lambda run: run.timeouts),
            )
            for name, some in of_kind
            if some
        ],
        passed=median(deviations) <= MEDIAN_TOLERANCE and max(deviations) <= CELL_TOLERANCE,
        verdict=(
            f"the goodput of all flows deviates by {_percent(median(deviations))} in the median (at most {_percent(MEDIAN_TOLERANCE)}) and by {_percent(max(deviations))} at most "
            f"({_percent(CELL_TOLERANCE)}), in {len(compared)} networks"
        ),
        cells=Table(
            (
                "network",
                "controls",
                "links",
                "flows",
                "goodput of all flows",
                "greatest deviation of a flow",
                "retransmissions",
                "timeouts",
            ),
            [
                (
                    str(one.net.number),
                    " ".join(dict.fromkeys(flow.control for flow in one.net.flows)),
                    str(len(one.net.hops)),
                    str(len(one.net.flows)),
                    percent(one.total),
                    _percent(max(one.flows)),
                    *(f"{_count(one.theirs, what)} / {_count(one.ours, what)}" for what in COUNTS),
                )
                for one in compared
            ],
        ),
    )


COUNTS: Sequence[Callable[[Run], int]] = (lambda run: run.retransmits, lambda run: run.timeouts)


def _compared(networks: Sequence[Network]) -> list[Compared]:
    runs = both_sides("Random networks, against Linux", networks, run_linux, run_here)
    return [Compared(net, *of_net) for net, of_net in zip(networks, runs, strict=True)]


def _two(values: Sequence[float]) -> tuple[str, str]:
    """Median and 90th percentile."""
    return _percent(median(values)), _percent(
        quantiles(values, n=10, method="inclusive")[-1] if len(values) > 1 else values[0]
    )


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _count(runs: Sequence[Run], what: Callable[[Run], int]) -> str:
    return f"{fmean(map(what, runs)):.3g}"


def _ratio(some: Sequence[Compared], what: Callable[[Run], int]) -> str:
    theirs, ours = (
        sum(fmean(map(what, runs)) for runs in side)
        for side in zip(*((one.theirs, one.ours) for one in some), strict=True)
    )
    return f"{ours / theirs:.2f}" if theirs else "-"
