"""The presets of Linux against real Linux: one flow, two flows over one queue, one flow over two paths."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from statistics import fmean, median
from typing import Any, Protocol, TypeVar

from bench.peers.linux import kernel
from validation import real_linux_cells
from validation.real_linux_cells import DURATION_S, Cell, Run, run_here, run_linux
from validation.section import Section, megabits, percent
from validation.work import in_parallel

MEDIAN_TOLERANCE = 0.05
CELL_TOLERANCE = 0.15
HEAVY_LOSS_TOLERANCE = 0.10

OPEN_WINDOW = {"net/ipv4/tcp_rmem": "4096 33554432 33554432"}
"""Its receive window opens with every segment, by default only with what the application has read."""

DRAFT = {"congestion": "bbr"}
"""BBR without what Linux adds."""

WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "compression of ACKs": {"ack": "quick-ack"},
    "undo by timestamps": {"spurious": "dsack"},
    "any undo": {"spurious": "none", "f_rto": False},
    "a margin of 200 ms in the timeout": {"rto_granularity": "10ms"},
    "the clock of that kernel": {"hz": 100},
    "all of Linux's rules under reordering": {"follows": "rfc"},
}
"""The keys that turn off each rule of Linux."""

SETTINGS = (
    f"Bulk flows for {DURATION_S} s from their start. Queues are drop-tail. Both sides lose the same list of packets behind the "
    f"queue. ACKs return over links with the same rates and delays and are never lost. Segments of 1448 bytes in packets of 1500, "
    f"initial window 10, least timeout 200 ms, quick and delayed ACKs, SACK, timestamps. Payload counts once, when it first arrives. "
    f"Where draws matter, values are means of two draws."
)
AS_ABOVE = "The settings and Linux's differences are those of one flow above."
DIFFERENCES = (
    f"Linux has its default sysctls and {kernel.JIFFIES_PER_SECOND} jiffies per second, with three exceptions. Segmentation offload is "
    f"off, so that every segment is a packet; ours has `segmentation_offload = false`. The sender's buffer has 64 MB. Nothing is learnt from earlier connections. TCP small "
    f"queues never bind, because the device accepts packets at once.",
    "A mark (PSH) comes where half of the largest window ends. Linux knows the window when data is written, ours when it is sent.",
    "Linux's timers are asleep until they are due, and its clock ticks as ours does. The receiver does not close its side, so it sends no FIN.",
)


Outcome = TypeVar("Outcome")


class Seeded(Protocol):
    """What runs once for each of its seeds."""

    @property
    def seeds(self) -> range:
        """The seeds."""


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
        f"One flow over a link of {megabits(results[0].cell.rate_bps)} Mbit/s. {AS_ABOVE} The presets were developed on these networks.",
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
    )


def run_cdg_and_dctcp(quick: bool) -> Section:
    """One flow of a control that draws, or that needs marks."""
    results = _results("CDG and DCTCP, against Linux", real_linux_cells.cdg_and_dctcp(quick))
    return _section(
        "real-linux-cdg-dctcp",
        "CDG and DCTCP against real Linux",
        f"One flow over a link of {megabits(results[0].cell.rate_bps)} Mbit/s. {AS_ABOVE} CDG backs off by chance, so its values are means of "
        f"{len(results[0].cell.seeds)} draws. DCTCP's queue marks packets that find at least the given number of packets in it.",
        ("congestion", "RTT", "queue, packets", "marks from", "loss"),
        [
            (
                result.cell.flows[0],
                _milliseconds(result.cell.round_trips_s[0]),
                str(result.cell.queue_packets),
                str(result.cell.mark_packets or "-"),
                f"{result.cell.loss:g}",
            )
            for result in results
        ],
        results,
        "At an RTT of 150 ms, CDG is not compared. There slow start ends by chance, early or late, and runs of Linux differ by a factor of two.",
    )


def run_sprayed(quick: bool) -> Section:
    """One flow over two paths."""
    results = _results("Spraying, against Linux", real_linux_cells.sprayed(quick))
    return _section(
        "real-linux-spraying",
        "One flow over two paths against real Linux",
        f"One flow, each packet over one of two paths of {megabits(results[0].cell.rate_bps)} Mbit/s, ACKs too. {AS_ABOVE} "
        "Where the choice is random, values are means of ten draws, and the two sides draw differently.",
        ("congestion", "RTTs", "loss", "choice"),
        [
            (
                result.cell.flows[0],
                ", ".join(map(_milliseconds, result.cell.round_trips_s)),
                f"{result.cell.loss:g}",
                result.cell.select,
            )
            for result in results
        ],
        results,
        "Reno over RTTs of 55 and 80 ms with losses showed an error in our sender, which deviated by +19.6 % before its repair. The other rules "
        "were found on other networks.",
        "Round robin has no draws. There a handshake's ACK takes a turn in Linux, and not here. What is first reordered then differs.",
    )


def run_sprayed_bbr(quick: bool) -> Section:
    """One flow of BBR over two paths, with and without pairs."""
    results = _results("Spraying of BBR, against Linux", real_linux_cells.sprayed_bbr(quick))
    return _section(
        "real-linux-spraying-bbr",
        "One flow of BBR over two paths against real Linux",
        f"One flow of BBR, its packets in turn over two paths of {megabits(results[0].cell.rate_bps)} Mbit/s, ACKs too. Either side sends single "
        f"segments, or pairs (segmentation offload). {AS_ABOVE}",
        ("RTTs", "loss", "segments"),
        [
            (
                ", ".join(map(_milliseconds, result.cell.round_trips_s)),
                f"{result.cell.loss:g}",
                "pairs" if result.cell.offload else "single",
            )
            for result in results
        ],
        results,
        "A retransmission in Linux leaves alone, unless its buffer carried several lost segments. So it changes which path each later packet takes.",
    )


def run_mechanisms(quick: bool) -> Section:
    """Measure the effect of each rule of Linux over sprayed paths."""
    cells = [cell for cell in real_linux_cells.sprayed(quick) if cell.select == "random"]
    results = _results("Spraying, against Linux", cells)
    jobs = [
        partial(run_here, cell, seed, **changes)
        for changes in WITHOUT.values()
        for cell in cells
        for seed in cell.seeds
    ]
    runs = iter(in_parallel("Without one rule of Linux each", jobs))
    variants = {
        name: [Result(result.cell, result.theirs, [next(runs) for _ in result.cell.seeds]) for result in results]
        for name in WITHOUT
    }
    whole = _median_deviation(results)
    return Section(
        key="real-linux-mechanisms",
        title="What Linux's rules are worth over sprayed paths",
        model=_model(),
        how='The cells above with a random choice, with `preset = "linux-reno"` and `"linux-cubic"` and the keys of the second column.',
        columns=("without", "keys", "mean deviation", "median deviation", "greatest", "retransmissions, ours / Linux"),
        rows=[
            (
                name,
                ", ".join(f"{key} = {value}" for key, value in WITHOUT.get(name, {}).items()),
                percent(fmean(result.ratio for result in variant)),
                f"{_median_deviation(variant) * 100:.1f} %",
                f"{max(abs(result.ratio - 1) for result in variant) * 100:.1f} %",
                f"{_retransmits(variant, 'ours') / _retransmits(variant, 'theirs'):.2f}",
            )
            for name, variant in {"nothing": results, **variants}.items()
        ],
        passed=whole <= MEDIAN_TOLERANCE,
        verdict=f"with all rules the median deviation is {whole * 100:.1f} % (at most {MEDIAN_TOLERANCE * 100:.0f} %) in {len(results)} cells",
    )


def _median_deviation(results: Sequence[Result]) -> float:
    return median(abs(result.ratio - 1) for result in results)


def _retransmits(results: Sequence[Result], side: str) -> float:
    return fmean(run.retransmits for result in results for run in getattr(result, side))


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
    results = _results("BBR at heavy loss, against Linux", cells)
    jobs = [partial(run_linux, cell, seed, settings=OPEN_WINDOW) for cell in cells for seed in cell.seeds]
    opened = iter(in_parallel("BBR at heavy loss, Linux with an open receive window", jobs))
    variants: Sequence[Mapping[str, str]] = ({}, DRAFT, DRAFT | {"follows": "rfc"})
    rows, ratios = [], []
    for result in results:
        theirs_bps = _median_bps(result.theirs)
        ours_bps = [_median_bps(_runs_here(result.cell, **variant)) for variant in variants]
        ratios.append([each_bps / theirs_bps for each_bps in ours_bps])
        rows.append(
            (
                megabits(result.cell.rate_bps),
                _milliseconds(result.cell.round_trips_s[0]),
                f"{result.cell.loss:g}",
                megabits(_median_bps([next(opened) for _ in result.cell.seeds])),
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
            f"whole run down. {AS_ABOVE} One column shows Linux with an open receive window ({_setting(OPEN_WINDOW)}), for comparison."
        ),
        columns=(
            "Mbit/s",
            "RTT",
            "loss",
            "Linux with an open window",
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
            f"{max(deviations) * 100:.1f} % (at most {HEAVY_LOSS_TOLERANCE * 100:.0f} %), in {len(results)} cells; retransmissions and timeouts are a "
            "run's mean, in Linux / here"
        ),
        notes=(
            f"Two columns show what the parts are worth. `linux-bbr` deviates by {percent(means[0])} in the mean. Its stack with BBR of the draft "
            f'(`congestion = "bbr"`) deviates by {percent(means[1])}, and with the recovery of the RFCs as well (`follows = "rfc"`) by {percent(means[2])}. '
            "That one has no receive window that grows.",
            "What is still lost when Linux's recovery ends begins the next one at once. BBR then neither restores the window nor conserves packets anew.",
            "Linux's receive window has 64 KB at first and opens with what the application reads. A hole stops that. A round without growth then looks "
            "like a full path, so that some startups end too early. The window is modelled, and its size was compared with Linux's segment by segment.",
        ),
    )


def run_shallow(quick: bool) -> Section:
    """Four flows of BBR over a short queue."""
    results = _results("Four flows of BBR over a short queue, against Linux", real_linux_cells.shallow(quick))
    rows, differences = [], []
    for result in results:
        sides = (result.theirs, result.ours, _runs_here(result.cell, **DRAFT))
        shares = [shares_by_size(runs) for runs in sides]
        differences.append(max(abs(theirs - ours) for theirs, ours in zip(shares[0], shares[1], strict=True)))
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
            f"{len(results[0].cell.seeds)} draws. {AS_ABOVE} Shares of the goodput are in percent, each run's sorted by size."
        ),
        columns=(
            "Mbit/s",
            "RTT",
            "queue, packets",
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


def run_short_flows(quick: bool) -> Section:
    """One flow that ends."""
    results = _results("Flows that end, against Linux", real_linux_cells.short_flows(quick))
    rows, deviations = [], []
    for result in results:
        rfc = _runs_here(result.cell, follows="rfc")
        theirs_s, ours_s, rfc_s = (completion_s(runs) for runs in (result.theirs, result.ours, rfc))
        deviations.append(abs(ours_s / theirs_s - 1) if isfinite(theirs_s) else inf)
        rows.append(
            (
                str(result.cell.segments[0]),
                ("none", "the last", "the last two")[len(result.cell.lost_segments)],
                *(_completion(mean_s) for mean_s in (theirs_s, ours_s)),
                percent(ours_s / theirs_s),
                _completion(rfc_s),
                percent(rfc_s / theirs_s),
                _both(result, lambda run: run.retransmits),
                _both(result, lambda run: run.timeouts),
            )
        )
    cell = results[0].cell
    return Section(
        key="real-linux-short-flows",
        title="Flows that end against real Linux",
        model=_model(),
        how=(
            f"One flow of CUBIC over {megabits(cell.rate_bps)} Mbit/s with an RTT of {_milliseconds(cell.round_trips_s[0])}. The application writes everything at "
            "once and closes the connection. The first transmission of some segments is lost. Times run from the application's start, with the handshake, to the arrival of "
            f'the last byte. By the RFCs is with `follows = "rfc"`. {AS_ABOVE}'
        ),
        columns=(
            "segments",
            "lost",
            "Linux, ms",
            "ours, ms",
            "deviation",
            "by the RFCs, ms",
            "deviation",
            "retransmissions",
            "timeouts",
        ),
        rows=rows,
        passed=median(deviations) <= MEDIAN_TOLERANCE and max(deviations) <= CELL_TOLERANCE,
        verdict=(
            f"the completion time deviates by {median(deviations) * 100:.1f} % in the median (at most {MEDIAN_TOLERANCE * 100:.0f} %), and by "
            f"{max(deviations) * 100:.1f} % at most ({CELL_TOLERANCE * 100:.0f} %), in {len(results)} cells; retransmissions and timeouts are a run's, in "
            "Linux / here"
        ),
        notes=(
            "Ten segments fit in the first window, so that the FIN follows them as a segment of its own. Its SACK block reveals the loss of the last segment.",
            "In larger flows the FIN is on the last segment, which goes beyond the window. So 11 segments take no round trip more than 10. Where the last is lost, a probe "
            "must find out.",
        ),
    )


def completion_s(runs: Sequence[Run]) -> float:
    """The mean completion time of the first flow; infinite if it does not end in one of the runs, so that no deviation is within a tolerance."""
    return fmean(inf if run.completions_s[0] is None else run.completions_s[0] for run in runs)


def _completion(mean_s: float) -> str:
    return f"{mean_s * 1e3:.1f}" if isfinite(mean_s) else "does not end"


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


def _results(label: str, cells: Sequence[Cell]) -> list[Result]:
    """Both sides of the cells; Linux has its defaults."""
    runs = both_sides(label, cells, partial(run_linux, settings={}), run_here)
    return [Result(cell, *of_cell) for cell, of_cell in zip(cells, runs, strict=True)]


def both_sides(
    label: str, cells: Sequence[Seeded], linux: Callable[..., Outcome], here: Callable[..., Outcome]
) -> list[tuple[list[Outcome], list[Outcome]]]:
    """The runs of Linux and of this engine in each cell, seed by seed."""
    kernel.built()
    jobs: list[Callable[[], Outcome]] = [
        partial(side, cell, seed) for cell in cells for side in (linux, here) for seed in cell.seeds
    ]
    runs = iter(in_parallel(label, jobs))
    return [([next(runs) for _ in cell.seeds], [next(runs) for _ in cell.seeds]) for cell in cells]  # as the jobs


def _setting(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name.rpartition('/')[2]} = {value}" for name, value in settings.items())


def _model() -> str:
    return f"Linux {kernel.version(kernel.built()[0])}"


def _milliseconds(time_s: float) -> str:
    return f"{time_s * 1e3:g} ms"


def _both(result: Result, count: Callable[[Run], int]) -> str:
    return " / ".join(f"{fmean(map(count, runs)):.3g}" for runs in (result.theirs, result.ours))
