"""The presets of Linux against real Linux: one flow, two flows over one queue, one flow over two paths."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Any

from bench.peers.linux import kernel
from validation import real_linux_cells
from validation.real_linux_cells import DURATION_S, Cell, Run, run_here, run_linux
from validation.section import Section, megabits, percent
from validation.work import in_parallel

MEDIAN_TOLERANCE = 0.05
CELL_TOLERANCE = 0.15
HEAVY_LOSS_TOLERANCE = 0.10

OPEN_WINDOW = {"net/ipv4/tcp_rmem": "4096 33554432 33554432"}
"""Its receive window grows with every segment, by default only with what the application has read."""

DRAFT = {"congestion": "bbr"}
"""BBR without what Linux adds."""

WITHOUT_COMPRESSION = {"net/ipv4/tcp_comp_sack_nr": "0"}

SETTINGS = (
    f"Bulk flows for {DURATION_S} s from their start. Queues are drop-tail. Both sides lose the same list of data packets behind the "
    f"queue. ACKs return over links with the same rates and delays and are never lost. Segments of 1448 bytes in packets of 1500, "
    f"initial window 10, least timeout 200 ms, quick and delayed ACKs, SACK, timestamps. Payload counts once, when it first arrives. "
    f"Where draws matter, values are means of two draws."
)
AS_ABOVE = "The settings and Linux's differences are those of one flow above."
DIFFERENCES = (
    f"Linux has its default sysctls and {kernel.JIFFIES_PER_SECOND} jiffies per second, with three exceptions. Segmentation offload is "
    f"off, so that every segment is a packet. Ours paces by two segments at least, as Linux's BBR does with offload. The sender's buffer has 64 MB. Nothing is learnt from earlier connections. TCP small "
    f"queues never bind, because the device accepts packets at once.",
    "Linux's receiver acknowledges every segment while its window grows, which its autotuning decides by round trips. `quick-ack` "
    "assumes growth from the 31st to the 1085th segment, or until the first segment out of order.",
    "Linux's ACKs carry SACK blocks of 12 to 36 bytes and its SYN has 60 bytes. Here every packet without payload has 52.",
)


@dataclass(frozen=True)
class Result:
    """Both sides of a cell, run by run."""

    cell: Cell
    theirs: Sequence[Run]
    ours: Sequence[Run]

    @property
    def ratio(self) -> float:
        """Our mean goodput over Linux's, all flows together."""
        return total_bps(self.ours) / total_bps(self.theirs)


def total_bps(runs: Sequence[Run]) -> float:
    """Mean goodput of all flows together."""
    return fmean(sum(run.goodput_bps) for run in runs)


def first_share(runs: Sequence[Run]) -> float:
    """The mean share of the goodput that the first flow has."""
    return fmean(run.goodput_bps[0] / sum(run.goodput_bps) for run in runs)


def run(quick: bool) -> Section:
    """One flow alone."""
    results = _results("One flow, against Linux", real_linux_cells.single_flows(quick))
    return _section(
        "real-linux",
        "One flow against real Linux",
        f"One flow. {SETTINGS}",
        ("congestion", "Mbit/s", "RTT", "queue, packets", "loss"),
        [
            (
                result.cell.flows[0],
                megabits(result.cell.rate_bps),
                _milliseconds(result.cell.round_trips_s[0]),
                str(result.cell.queue_packets),
                f"{result.cell.loss:g}",
            )
            for result in results
        ],
        results,
    )


def run_controls(quick: bool) -> Section:
    """One flow of each other congestion control."""
    results = _results("Other congestion controls, against Linux", real_linux_cells.controls(quick))
    return _section(
        "real-linux-controls",
        "Other congestion controls against real Linux",
        f"One flow over a link of {megabits(results[0].cell.rate_bps)} Mbit/s. {AS_ABOVE} The receive window is at most 3 MB, as Linux's is by default. "
        "The presets were developed on these networks.",
        ("congestion", "RTT", "queue, packets", "loss"),
        [
            (
                result.cell.flows[0],
                _milliseconds(result.cell.round_trips_s[0]),
                str(result.cell.queue_packets),
                f"{result.cell.loss:g}",
            )
            for result in results
        ],
        results,
        "Linux's receiver opens its window by and by. Hybla's slow start is bounded by that, and ours is not: it overshoots more and retransmits more.",
    )


def run_sprayed(quick: bool) -> Section:
    """One flow over two paths; judged against Linux without the compression of SACKs, which is not modelled."""
    cells = real_linux_cells.sprayed(quick)
    results = _results("Spraying, against Linux without compression of SACKs", cells, WITHOUT_COMPRESSION)
    defaults = _results("Spraying, against Linux", cells)
    random = [result for result in results if result.cell.select == "random"]
    return _section(
        "real-linux-spraying",
        "One flow over two paths against real Linux",
        f"One flow, each packet over one of two paths of {megabits(cells[0].rate_bps)} Mbit/s, ACKs too. {AS_ABOVE} The deviation is from Linux "
        "without compression of SACKs (tcp_comp_sack_nr = 0). The column before has Linux with it.",
        ("congestion", "RTTs", "loss", "choice", "Linux by default"),
        [
            (
                result.cell.flows[0],
                ", ".join(map(_milliseconds, result.cell.round_trips_s)),
                f"{result.cell.loss:g}",
                result.cell.select,
                megabits(total_bps(default.theirs)),
            )
            for result, default in zip(results, defaults, strict=True)
        ],
        results,
        "Since Linux 4.18 a receiver delays SACKs of segments out of order by up to 1 ms or 44 ACKs; `quick-ack` does not. "
        "This matters most where round robin reorders regularly: compare the two columns of Linux.",
        "Undo by timestamps matters where the choice is random. With undo by DSACK alone the mean deviation of these cells is "
        f"{percent(_mean_ratio(random, spurious='dsack'))} instead of {percent(_mean_ratio(random))}.",
    )


def _mean_ratio(results: Sequence[Result], **stack: str) -> float:
    """Our goodput over Linux's with changed stacks, the mean of the cells."""
    return fmean(total_bps(_runs_here(result.cell, **stack)) / total_bps(result.theirs) for result in results)


def run_pairs(quick: bool) -> Section:
    """Two flows over one queue."""
    results = _results("Coexistence, against Linux", real_linux_cells.pairs(quick))
    differences = [first_share(result.ours) - first_share(result.theirs) for result in results]
    middle, greatest = median(map(abs, differences)), max(map(abs, differences))
    return Section(
        key="real-linux-pairs",
        title="Two flows over one queue against real Linux",
        model=_model(),
        how=(
            f"A cubic flow and, half a second later, a flow of another congestion control share a link of "
            f"{megabits(results[0].cell.rate_bps)} Mbit/s. {AS_ABOVE} The share is cubic's part of the goodput of both."
        ),
        columns=("flows", "RTT", "queue, packets", "share in Linux", "share here", "difference", "goodput of both"),
        rows=[
            (
                " and ".join(result.cell.flows),
                _milliseconds(result.cell.round_trips_s[0]),
                str(result.cell.queue_packets),
                f"{first_share(result.theirs) * 100:.1f} %",
                f"{first_share(result.ours) * 100:.1f} %",
                f"{difference * 100:+.1f}",
                percent(result.ratio),
            )
            for result, difference in zip(results, differences, strict=True)
        ],
        passed=middle <= MEDIAN_TOLERANCE and greatest <= CELL_TOLERANCE,
        verdict=(
            f"the share differs by {middle * 100:.1f} points in the median of {len(results)} cells (at most "
            f"{MEDIAN_TOLERANCE * 100:.0f}) and by {greatest * 100:.1f} at most ({CELL_TOLERANCE * 100:.0f})"
        ),
    )


def run_heavy_loss(quick: bool) -> Section:
    """One flow of BBR that loses much."""
    cells = real_linux_cells.heavy_loss(quick)
    results = _results("BBR at heavy loss, against Linux with an open receive window", cells, OPEN_WINDOW)
    defaults = _results("BBR at heavy loss, against Linux", cells)
    variants: Sequence[Mapping[str, str]] = ({}, DRAFT, DRAFT | {"follows": "rfc"})
    rows, ratios = [], []
    for result, default in zip(results, defaults, strict=True):
        theirs_bps = _median_bps(result.theirs)
        ours_bps = [_median_bps(_runs_here(result.cell, **variant)) for variant in variants]
        ratios.append([each_bps / theirs_bps for each_bps in ours_bps])
        rows.append(
            (
                megabits(result.cell.rate_bps),
                _milliseconds(result.cell.round_trips_s[0]),
                f"{result.cell.loss:g}",
                megabits(_median_bps(default.theirs)),
                megabits(theirs_bps),
                megabits(ours_bps[0]),
                *map(percent, ratios[-1]),
                _both(result, lambda run: run.retransmits),
                _both(result, lambda run: run.timeouts),
            )
        )
    deviations = [abs(ratio - 1) for ratio, *_ in ratios]
    means = [fmean(of_variant) for of_variant in zip(*ratios, strict=True)]
    return Section(
        key="real-linux-bbr-loss",
        title="BBR at heavy loss against real Linux",
        model=_model(),
        how=(
            f"One flow of BBR; goodputs are medians of {len(results[0].cell.seeds)} draws, because a startup that ends too early by chance holds a "
            f"whole run down. {AS_ABOVE} The deviation is from Linux with an open receive window ({_setting(OPEN_WINDOW)}). The column before has Linux "
            "by default."
        ),
        columns=(
            "Mbit/s",
            "RTT",
            "loss",
            "Linux by default",
            "Linux, Mbit/s",
            "ours, Mbit/s",
            "deviation",
            "draft's BBR",
            "and RFC",
            "retransmissions",
            "timeouts",
        ),
        rows=rows,
        passed=median(deviations) <= MEDIAN_TOLERANCE and max(deviations) <= HEAVY_LOSS_TOLERANCE,
        verdict=(
            f"median deviation {median(deviations) * 100:.1f} % (at most {MEDIAN_TOLERANCE * 100:.0f} %), greatest "
            f"{max(deviations) * 100:.1f} % (at most {HEAVY_LOSS_TOLERANCE * 100:.0f} %), in {len(results)} cells; retransmissions and "
            "timeouts are a run's mean, in Linux / here"
        ),
        notes=(
            f"Two columns show what the parts are worth. `linux-bbr` deviates by {percent(means[0])} in the mean. Its stack with BBR of the draft "
            f'(`congestion = "bbr"`) deviates by {percent(means[1])}, and with the recovery of the RFCs as well (`follows = "rfc"`) by {percent(means[2])}.',
            "What is still lost when Linux's recovery ends begins the next one at once. BBR then neither restores the window nor conserves packets anew.",
            "By default Linux's receive window has 64 KB at first and opens with what the application reads. A hole stops that. A round without growth then looks "
            "like a full path, so that some startups end too early. This is not modelled.",
        ),
    )


def run_shallow(quick: bool) -> Section:
    """Four flows of BBR over a short queue."""
    cells = real_linux_cells.shallow(quick)
    results = _results(
        "Four flows of BBR over a short queue, against Linux with an open receive window", cells, OPEN_WINDOW
    )
    defaults = _results("Four flows of BBR over a short queue, against Linux", cells)
    rows, differences = [], []
    for result, default in zip(results, defaults, strict=True):
        sides = (default.theirs, result.theirs, result.ours, _runs_here(result.cell, **DRAFT))
        shares = [shares_by_size(runs) for runs in sides]
        differences.append(max(abs(theirs - ours) for theirs, ours in zip(*shares[1:3], strict=True)))
        rows.append(
            (
                megabits(result.cell.rate_bps),
                _milliseconds(result.cell.round_trips_s[0]),
                str(result.cell.queue_packets),
                *(" ".join(f"{share * 100:.0f}" for share in of_side) for of_side in shares),
                percent(result.ratio),
                _both(result, lambda run: run.retransmits),
                _both(result, lambda run: run.timeouts),
            )
        )
    return Section(
        key="real-linux-bbr-shallow",
        title="Four flows of BBR over a short queue against real Linux",
        model=_model(),
        how=(
            f"Four flows of BBR start half a second apart and share a queue of half a bandwidth-delay product; means of "
            f"{len(results[0].cell.seeds)} draws. {AS_ABOVE} Shares of the goodput are in percent, each run's sorted by size. "
            f"Linux has an open receive window ({_setting(OPEN_WINDOW)}); the column before has Linux by default."
        ),
        columns=(
            "Mbit/s",
            "RTT",
            "queue, packets",
            "Linux by default",
            "shares in Linux",
            "shares here",
            "draft's BBR",
            "goodput of all",
            "retransmissions",
            "timeouts",
        ),
        rows=rows,
        passed=max(differences) <= CELL_TOLERANCE,
        verdict=(
            f"a share differs by {max(differences) * 100:.1f} points at most ({CELL_TOLERANCE * 100:.0f}), in {len(results)} cells; "
            "retransmissions and timeouts are a run's, in Linux / here"
        ),
        notes=(
            "The short queue loses so much that Linux's BBR takes it for a policer. A flow then keeps its rate for 48 rounds without probing, while others take "
            "what is free. BBR of the draft knows no policers and shares more evenly.",
        ),
    )


def _runs_here(cell: Cell, **stack: Any) -> list[Run]:
    return [run_here(cell, seed, **stack) for seed in cell.seeds]


def _median_bps(runs: Sequence[Run]) -> float:
    return median(sum(run.goodput_bps) for run in runs)


def shares_by_size(runs: Sequence[Run]) -> list[float]:
    """Shares of the goodput, the greatest first; the mean of the runs."""
    by_size = [sorted((rate / sum(run.goodput_bps) for rate in run.goodput_bps), reverse=True) for run in runs]
    return [fmean(shares) for shares in zip(*by_size, strict=True)]


def _section(
    key: str,
    title: str,
    how: str,
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    results: Sequence[Result],
    *notes: str,
) -> Section:
    deviations = [abs(result.ratio - 1) for result in results]
    return Section(
        key=key,
        title=title,
        model=_model(),
        how=how,
        columns=(*columns, "Linux, Mbit/s", "ours, Mbit/s", "deviation", "retransmissions", "timeouts"),
        rows=[
            (
                *cell,
                megabits(total_bps(result.theirs)),
                megabits(total_bps(result.ours)),
                percent(result.ratio),
                _both(result, lambda run: run.retransmits),
                _both(result, lambda run: run.timeouts),
            )
            for cell, result in zip(cells, results, strict=True)
        ],
        passed=median(deviations) <= MEDIAN_TOLERANCE and max(deviations) <= CELL_TOLERANCE,
        verdict=(
            f"median deviation {median(deviations) * 100:.1f} % (at most {MEDIAN_TOLERANCE * 100:.0f} %), greatest "
            f"{max(deviations) * 100:.1f} % (at most {CELL_TOLERANCE * 100:.0f} %), in {len(results)} cells; retransmissions and "
            "timeouts are a run's, in Linux / here"
        ),
        notes=notes or DIFFERENCES,
    )


def _results(label: str, cells: Sequence[Cell], settings: Mapping[str, str] | None = None) -> list[Result]:
    """Both sides of the cells; the settings are Linux's."""
    kernel.built()
    sides = (partial(run_linux, settings=settings or {}), run_here)
    jobs: list[Callable[[], Run]] = [partial(one, cell, seed) for cell in cells for one in sides for seed in cell.seeds]
    runs = iter(in_parallel(label, jobs))
    return [
        Result(cell, [next(runs) for _ in cell.seeds], [next(runs) for _ in cell.seeds])  # in the order of the jobs
        for cell in cells
    ]


def _setting(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name.rpartition('/')[2]} = {value}" for name, value in settings.items())


def _model() -> str:
    return f"Linux {kernel.version(kernel.built()[0])}"


def _milliseconds(time_s: float) -> str:
    return f"{time_s * 1e3:g} ms"


def _both(result: Result, count: Callable[[Run], int]) -> str:
    return " / ".join(f"{fmean(map(count, runs)):.3g}" for runs in (result.theirs, result.ours))
