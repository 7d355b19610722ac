"""Routes and comparisons as rows of text for people."""

from collections.abc import Callable
from math import inf

from anabranch.engineering.routes.compare import HEURISTIC, OPTIMUM, MetricComparison, Pair
from anabranch.engineering.routes.model import Routes
from anabranch.engineering.routes.search import Throughput
from anabranch.foundation.text_table import TextTable, count
from anabranch.network.metrics import BOTTLENECKS, stack_of

ARROW = " > "

LEGEND = (
    "By metric: delay x sqrt(loss) of its path over the least. Hop by hop: the same of what is delivered if every router "
    "forwards along its own route."
)
"""Explains the columns of :func:`differing_table`."""

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""A head and rows."""


def routes_table(routes: Routes) -> Table:
    """One row a path; a pair without a path has a row that says so."""
    rows: list[tuple[str, ...]] = []
    several = any(len(route.paths) > 1 for route in routes.routes)
    for route in routes.routes:
        if not route.paths:
            rows.append((route.source, route.target, "no path", *("-",) * (4 if several else 3)))
        for path in route.paths:
            share = (f"{path.weight:.3g}",) if several else ()
            numbers = (_milliseconds(path.delay_s), _number(path.loss), _number(path.cost))
            rows.append((route.source, route.target, ARROW.join(path.nodes), *share, *numbers))
    return routes_head(routes.metric, several), rows


def routes_head(metric: str, with_share: bool) -> tuple[str, ...]:
    """The head of :func:`routes_table`, with shares if a pair has several paths. Of a rate, the last column says what it is, and its unit."""
    cost = "goodput, bit/s" if stack_of(metric) else "least rate, bit/s" if metric in BOTTLENECKS else "cost"
    return ("from", "to", "path", *(("share",) if with_share else ()), "delay, ms", "loss", cost)


def throughput_table(routes: Routes, throughputs: dict[tuple[str, str], Throughput]) -> TextTable:
    """What the disjoint paths of each pair have together by predicted throughput, and what the best has alone."""
    by_goodput = stack_of(routes.metric) is not None
    shown: Callable[[float], str] = _megabits if by_goodput else lambda value: f"{1e3 / value:.4g}"
    unit = "goodput, Mbit/s" if by_goodput else "delay x sqrt(loss), ms"
    rows, proven, single = [], 0, 0
    for route in routes.routes:
        if not route.paths:
            continue
        found = throughputs[route.source, route.target]
        proven += found.is_proven
        single += len(route.paths) == 1
        times = found.together / found.alone
        most = "" if found.is_proven else f"x {found.at_most / found.together:.4g}"
        several = (str(len(route.paths)), shown(found.together), shown(found.alone), f"x {times:.4g}", most)
        rows.append((route.source, route.target, *several))
    head = ("from", "to", "paths", f"{unit}, together", "best path alone", "gain", "a better set has at most")
    notes = ["Each path has flows of its own; shares are proportional to their throughput."]
    notes += [f"One path is best for {count(single, 'pair')}: no disjoint path adds to it."] if single else []
    notes += [f"No set of disjoint paths has more: proven for {proven} of {count(len(rows), 'pair')}."] if rows else []
    return TextTable(head, rows, 2, notes)


def pair_table(pair: Pair) -> Table:
    """One row a metric."""
    rows: list[tuple[str, ...]] = []
    for metric, path in pair.paths.items():
        ties = pair.ties.get(metric, 1)
        rows.append(
            (
                metric + (f" (1 of {ties})" if ties > 1 else ""),
                ARROW.join(path.nodes),
                _milliseconds(path.delay_s),
                _number(path.loss),
                f"{pair.tcpbp_cost_s[metric] * 1e3:.4g}",
                _megabits(pair.predicted_bps[metric]),
                "-" if metric == OPTIMUM else _flows(pair.flows[metric]),
            )
        )
    head = ("metric", "path", "delay, ms", "loss", "delay x sqrt(loss), ms", "predicted, Mbit/s", "n_f")
    return head, rows


def differing_table(comparison: MetricComparison, most: int | None = None) -> Table:
    """Pairs on which heuristic, optimum, hop-by-hop forwarding or metrics differ, the worst first; at most ``most``."""

    def weight(pair: Pair) -> tuple[float, float]:
        gains = [pair.explicit_gain(metric) for metric in (HEURISTIC, OPTIMUM)]
        others = [pair.ratio(metric) for metric in pair.tcpbp_cost_s]
        return max(pair.heuristic_ratio, *gains), max(others)

    others = [metric for metric in comparison.metrics if metric not in (HEURISTIC, OPTIMUM)]
    rows: list[tuple[str, ...]] = []
    differing = sorted((pair for pair in comparison.pairs if pair.paths and pair.differs), key=weight, reverse=True)
    for pair in differing[:most]:
        rows.append(
            (
                pair.source,
                pair.target,
                ARROW.join(pair.paths[OPTIMUM].nodes),
                *(_times(pair.ratio(metric)) for metric in (*others, HEURISTIC)),
                *(
                    pair.deliveries[metric].outcome
                    if pair.deliveries[metric].outcome != "another path"
                    else _times(pair.explicit_gain(metric))
                    for metric in (HEURISTIC, OPTIMUM)
                ),
            )
        )
    head = ("from", "to", "best path", *others, HEURISTIC, "hop by hop: tcpbp", "hop by hop: exact")
    return head, rows


def summary_lines(comparison: MetricComparison) -> list[str]:
    """The counts in sentences."""
    counts = comparison.summary
    lines = [
        f"{comparison.topology.name}: {counts['pairs']} pairs, {counts['differing']} with different paths by different metrics"
        + (f", {counts['unreachable']} without a path" if counts["unreachable"] else "")
    ]
    for metric, same in counts["same_path_as_tcpbp"].items():
        spread = ""
        if same["tied"]:
            spread = f" ({same['at_least']} to {same['at_most']}: {same['tied']} pairs have ties)"
        lines.append(f"  tcpbp = {metric}: {same['found']} pairs{spread}")
    worst = counts["heuristic_ratio_worst"]
    lines.append(
        f"The heuristic misses the best path for {counts['heuristic_misses']} pairs"
        + (f", by up to {worst:.3f} times its cost" if counts["heuristic_misses"] and worst else "")
    )
    for metric, outcomes in counts["hop_by_hop"].items():
        lines.append(
            f"Hop by hop, {metric}: {outcomes['as planned']} pairs as planned, {outcomes['another path']} over another path, "
            f"{outcomes['loop']} in a loop"
        )
    lines += [
        f"  loop: {ARROW.join(delivery.path)} (to {pair.target}, from {pair.source})"
        for pair, delivery in ((pair, pair.deliveries.get(HEURISTIC)) for pair in comparison.pairs)
        if delivery is not None and delivery.outcome == "loop"
    ][:10]
    return lines


def _times(ratio: float) -> str:
    return "best" if ratio <= 1 + 1e-9 else "-" if ratio == inf else f"x {ratio:.3f}"


def _flows(count: float) -> str:
    return "any" if count == inf else f"{count:.0f}" if count else "-"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.4g}"


def _megabits(rate: float) -> str:
    return "no limit" if rate == inf else f"{rate / 1e6:.4g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
