"""The answers of ``anabranch routes``."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from anabranch._core import PairRoutes
from anabranch.cli.exit_status import UsageError
from anabranch.cli.options import between, rate_bps
from anabranch.cli.routes import Comparing, Completion, Selection
from anabranch.cli.sprayed_sets_answer import SprayedSets, answered
from anabranch.cli.traffic_classes import TrafficClasses
from anabranch.compile.stacks import preset_law
from anabranch.engineering.routes import picture, tables
from anabranch.engineering.routes.compare import OPTIMUM, MetricComparison, compare
from anabranch.engineering.routes.model import Forwarding, Routes
from anabranch.engineering.routes.quantities import completed
from anabranch.engineering.routes.search import Certificate, PathQuery, Search, Throughput
from anabranch.engineering.routes.writing import RouteStream
from anabranch.foundation import units
from anabranch.foundation.progress import Steps
from anabranch.foundation.text_table import TextTable
from anabranch.network import metrics
from anabranch.network.topologies import Topology
from anabranch.scenario.stacks import PRESETS


class Answer(Protocol):
    """An answer in all output formats."""

    def document(self) -> dict[str, Any]:
        """The answer for JSON."""
        ...

    def tables(self, most_rows: int) -> Iterator[TextTable]:
        """The answer for people."""
        ...

    def drawing(self) -> str:
        """The answer as SVG."""
        ...

    def export(self, format: str, directory: Path, separate: TrafficClasses, interfaces: Path | None) -> list[Path]:
        """Files for real routers; :class:`ValueError` if there is nothing to write, or a format cannot express it."""
        ...


def network(topology: Topology, completion: Completion) -> Topology:
    """The topology, completed by what the command line says.

    Raises:
        UsageError: names the option, its value, and what would be right.
    """
    bounds = None
    if completion.random_loss is not None:
        bounds = _ratios(completion.random_loss)
    elif completion.seed != Completion().seed:
        raise UsageError("--seed goes with --random-loss")
    for option, ratio in (("--loss", completion.loss), ("--loss-floor", completion.loss_floor)):
        if ratio is not None and not 0 <= ratio < 1:
            raise UsageError(f"{option} {ratio:g}: must be a ratio from 0 to less than 1, such as 0.001")
    return completed(
        topology,
        capacity_bps=None if completion.capacity is None else rate_bps("--capacity", completion.capacity),
        loss=completion.loss,
        random_loss=bounds,
        seed=completion.seed,
        loss_floor=completion.loss_floor,
    )


def _ratios(random_loss: str) -> tuple[float, float]:
    low, dots, high = random_loss.partition("..")
    with suppress(ValueError):
        least, most = units.share(low), units.share(high if dots else low)
        if 0 < least <= most < 1:
            return least, most
    raise UsageError(
        f"--random-loss {random_loss}: must be two ratios above 0 and below 1, the lower one first, such as 1e-5..1e-2"
    )


def answer(
    selection: Selection, comparing: Comparing, topology: Topology, *, needs_all: bool, to_file: bool = False
) -> Answer | RouteStream:
    """Search or compare. Routes that no other output needs as a whole are found while they are written.

    Raises:
        UsageError: names options that do not go together or have no such value.
        ValueError: names what is wrong with the topology.
    """
    for metric in comparing.against or []:
        _require_metric(f"--against {metric}", metric)
    _require_metric(f"--metric {selection.metric}", selection.metric)
    search = Search(topology, preset_law)
    for nodes in (selection.sources or [], selection.targets or []):
        for place, node in enumerate(nodes):
            search.index(node)  # before a complaint about what the topology does not say
            if node in nodes[:place]:
                raise UsageError(
                    f"--{'from' if nodes is selection.sources else 'to'} {node}: is given twice; name each node once"
                )
    if comparing.compare:
        for option in ("metric", *_SEVERAL, "spray", "crossover", "hop_by_hop", "certify"):
            if getattr(selection, option) != getattr(Selection(), option):
                raise UsageError(
                    f"--{option.replace('_', '-')} does not go with --compare, which shows all metrics; leave one out"
                )
        ends = selection.sources, selection.targets
        comparison = compare(topology, comparing.against, *ends, once=comparing.once)
        if not comparison.pairs:
            raise ValueError(
                "--from and --to leave no pair to compare: a route joins two different nodes, with --once from the earlier one"
            )
        return _Compared(comparison)
    for option in ("against", "once", "rows"):
        if getattr(comparing, option) != getattr(Comparing(), option):
            raise UsageError(f"--{option} goes with --compare")
    if selection.crossover is not None:
        from anabranch.cli.crossover_answer import Crossed

        for option in ("metric", *_SEVERAL, "spray", "hop_by_hop", "certify"):
            if getattr(selection, option) != getattr(Selection(), option):
                raise UsageError(f"--{option.replace('_', '-')} and --crossover do not go together; leave one out")
        return Crossed.of(topology, selection)
    if selection.certify and selection.metric != OPTIMUM:
        raise UsageError(f'--certify proves paths of the metric {OPTIMUM}, not of "{selection.metric}"')
    if selection.spray and not (selection.disjoint or selection.node_disjoint):
        raise UsageError("--spray goes with --disjoint or --node-disjoint: it sprays over paths that share no link")
    stream = _stream(search, selection)
    by_throughput = (selection.disjoint or selection.node_disjoint) and (
        metrics.declared(selection.metric) in metrics.BY_THROUGHPUT
    )
    if by_throughput and not to_file:
        return _throughput_sets(stream, selection)
    if not (selection.certify or selection.spray or needs_all):
        return stream
    found = _whole(stream)
    if selection.spray:
        from anabranch.cli.spray_answer import Sprayed

        return Sprayed.of(found)
    certificates: dict[tuple[str, str], Certificate] = {}
    if selection.certify:
        with Steps(len(found.routes), "certifying") as steps:
            for route in found.routes:
                certificate = search.certificate(route.source, route.target)
                steps.advance()
                if certificate is not None:
                    certificates[route.source, route.target] = certificate
    return _Found(found, certificates)


def _require_metric(place: str, text: str) -> None:
    """Refuse what is no metric; ``place`` is the option with its value."""
    try:
        metrics.metric(text)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None


_SEVERAL = ("shortest", "disjoint", "node_disjoint", "within", "pareto")
"""Questions for several paths of each pair."""
_MOST_PAIRS = 2_000_000
"""The most pairs of an answer that is in memory as a whole."""
_MOST_PATHS = 10_000
"""The most paths of each pair in one answer."""


def _stream(search: Search, selection: Selection) -> RouteStream:
    # 0 is a number that was given, and not the same as none.
    given = [option for option in _SEVERAL if not any(getattr(selection, option) is absent for absent in (None, False))]
    chosen = [f"--{option.replace('_', '-')}" for option in given]
    question: PathQuery
    if not chosen:
        question = search.for_best(selection.metric)
    else:
        option, *others = chosen
        others += [other for other in ("--hop-by-hop", "--certify") if getattr(selection, other[2:].replace("-", "_"))]
        if others:
            raise UsageError(f"{option} and {others[0]} do not go together")
        question = _for_several(search, selection, option)
    forwarding: Forwarding = "hop-by-hop" if selection.hop_by_hop else "explicit"
    ends = selection.sources, selection.targets
    if selection.sources and selection.sources == selection.targets and len(selection.sources) == 1:
        raise UsageError("--from and --to name the same node: a route joins two different nodes")
    return RouteStream(search, question, forwarding, *ends)


def _for_several(search: Search, selection: Selection, option: str) -> PathQuery:
    """Several paths of each pair, by this option."""
    if selection.pareto:
        if selection.metric != OPTIMUM:
            raise UsageError("--pareto goes by delay, loss and capacity at once; leave --metric out")
        return search.for_pareto()
    if selection.within is not None:
        if not selection.within >= 0:
            raise UsageError(f"--within {100 * selection.within:g}%: must be at least 0%, such as 5%")
        question = search.for_within(selection.metric, selection.within, _MOST_PATHS + 1)
        return replace(question, find=lambda of, into: _checked(search, selection.within, question.find(of, into)))
    most = selection.shortest or selection.disjoint or selection.node_disjoint or 0
    between(option, most, most, 1, _MOST_PATHS)
    if selection.shortest:
        return search.for_shortest(selection.metric, most)
    return search.for_disjoint(selection.metric, most, by_nodes=selection.node_disjoint is not None)


def _checked(search: Search, within: float | None, found: PairRoutes) -> PairRoutes:
    for pair in np.flatnonzero(found["paths"] > _MOST_PATHS):
        source, target = (search.names[found[end][pair]] for end in ("src", "dst"))
        raise ValueError(
            f"--within {100 * (within or 0):g}%: more than {_MOST_PATHS:,} paths lead from {source} to {target} at such a cost; "
            "give a smaller share, or a number of paths by --shortest"
        )
    return found


def _throughput_sets(stream: RouteStream, selection: Selection) -> Answer:
    """Disjoint paths by predicted throughput, with the throughput of each set."""
    _require_few(stream)
    stack = metrics.stack_of(selection.metric)
    if selection.spray and stack in PRESETS:
        answered(stack)  # before the search, which takes longer
    most, by_nodes = selection.disjoint or selection.node_disjoint or 0, selection.node_disjoint is not None
    with Steps(stream.pairs, "searching") as steps:
        routes, throughputs = stream.search.throughput_sets(
            selection.metric, most, stream.sources, stream.targets, steps.advance, by_nodes=by_nodes
        )
    if selection.spray and stack is not None:
        return SprayedSets.of(stream.search, stack, most, routes, by_nodes=by_nodes)
    if selection.spray:
        from anabranch.cli.spray_answer import Sprayed

        return Sprayed.of(routes)
    return _Found(routes, {}, throughputs)


def _require_few(stream: RouteStream) -> None:
    if stream.pairs > _MOST_PAIRS:
        raise ValueError(
            f"{stream.search.topology.name}: {stream.pairs:,} pairs are more than the {_MOST_PAIRS:,} that --export, --picture and "
            "--certify take; choose some by --from or --to"
        )


def _whole(stream: RouteStream) -> Routes:
    _require_few(stream)
    with Steps(stream.pairs, "searching") as steps:
        return stream.search.answer(stream.question, stream.sources, stream.targets, steps.advance, stream.forwarding)


@dataclass(frozen=True)
class _Found:
    routes: Routes
    certificates: dict[tuple[str, str], Certificate]
    throughputs: dict[tuple[str, str], Throughput] = field(default_factory=dict)
    """Of disjoint paths by predicted throughput."""

    def document(self) -> dict[str, Any]:
        document = self.routes.document()
        for record in document["routes"]:
            ends = record["src"], record["dst"]
            if ends in self.throughputs:
                record["throughput"] = asdict(self.throughputs[ends])
            certificate = self.certificates.get(ends)
            if certificate is not None:
                record["certificate"] = {
                    "lower_bound": certificate.lower_bound_s,
                    "holds": certificate.holds,
                    "supports": [
                        {"lambda_s": weight, "length_s": length} if weight < float("inf") else {"log_loss": length}
                        for weight, length in certificate.supports
                    ],
                }
        return document

    def tables(self, most_rows: int) -> Iterator[TextTable]:
        head, rows = tables.routes_table(self.routes)
        yield TextTable(head, rows)
        if self.throughputs:
            yield tables.throughput_table(self.routes, self.throughputs)
        if self.certificates:
            holding = sum(certificate.holds for certificate in self.certificates.values())
            lambdas = sum(len(certificate.supports) for certificate in self.certificates.values())
            yield TextTable(
                notes=[
                    f"Certificates: {holding} of {len(self.certificates)} hold, on {lambdas} shortest lengths recomputed by "
                    "Bellman and Ford's method."
                ]
            )

    def drawing(self) -> str:
        return picture.of_routes(self.routes)

    def export(self, format: str, directory: Path, separate: TrafficClasses, interfaces: Path | None) -> list[Path]:
        from anabranch.engineering.routes.export import export

        search = Search(self.routes.topology, preset_law)
        sources, targets = ({getattr(route, end): None for route in self.routes.routes} for end in ("source", "target"))

        def routes_by(place: str, metric: str) -> Routes:
            """Other routes of the same pairs, as in the paper's testbed (section 5.1)."""
            _require_metric(place, metric)
            return search.routes(metric, sources, targets, self.routes.forwarding)

        options = separate.options(format, "METRIC", "delay", routes_by)
        return export(self.routes, format, directory, interfaces=interfaces, **options)


@dataclass(frozen=True)
class _Compared:
    comparison: MetricComparison

    def document(self) -> dict[str, Any]:
        return self.comparison.document()

    def tables(self, most_rows: int) -> Iterator[TextTable]:
        if len(self.comparison.pairs) == 1:
            (pair,) = self.comparison.pairs
            if not pair.paths:
                yield TextTable(notes=[f"{pair.source} to {pair.target}: no path"])
                return
            head, rows = tables.pair_table(pair)
            notes = [
                f"Hop by hop, {metric}: {delivery.outcome}, {tables.ARROW.join(delivery.path)}"
                for metric, delivery in pair.deliveries.items()
            ]
            notes.append("n_f: up to this number of flows, each gets more on the path of tcpbp-exact.")
            yield TextTable(head, rows, 2, notes)
            return
        yield TextTable(notes=tables.summary_lines(self.comparison))
        head, rows = tables.differing_table(self.comparison, most_rows)
        left = self.comparison.summary["differing"] - len(rows)
        notes = [tables.LEGEND] + ([f"{left} more pairs differ: --rows shows more, --json all."] if left else [])
        yield TextTable(head, rows, 3, notes if rows else [])

    def drawing(self) -> str:
        return picture.of_comparison(self.comparison)

    def export(self, format: str, directory: Path, separate: TrafficClasses, interfaces: Path | None) -> list[Path]:
        raise UsageError("--export writes the routes of one metric: leave --compare out")
