"""Results of the study, computed once for claims, numbers, pictures and tables."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from anabranch.engineering.routes.compare import MetricComparison, compare
from anabranch.results.result import Result
from anabranch.studies.papers.measures import flows as flows_of
from anabranch.studies.papers.measures import over_seeds, summary
from anabranch.studies.papers.study import Lab
from anabranch.studies.papers.tcpbp import (
    absolute,
    asymmetry,
    controller,
    copies,
    fairness,
    law,
    networks,
    running_times,
    throughput,
    together,
)
from anabranch.studies.papers.tcpbp.networks import DELAY, EXACT, HOPS, TCPBP, Pair
from anabranch.studies.papers.tcpbp.throughput import FLOWS, OTHER_READING, Gain, Rates, Testbed

Estimate = tuple[float, float | None]
"""A mean and half of its 95 % confidence interval."""
OTHERS = {"hop-count": HOPS, "delay": DELAY}
"""The metrics that the paper compares TCPBP with, by the paper's names."""
METRICS = {"tcpbp": TCPBP, "delay": DELAY, "hop-count": HOPS}


class Evidence:
    """The evidence from one set of results."""

    def __init__(self, lab: Lab, results: Mapping[str, Result]) -> None:
        """Keep the results. Properties compute their values at first use."""
        self.lab = lab
        self.results = results
        self.bed = Testbed("0.0040")
        self.other_bed = Testbed(OTHER_READING)
        self.draws = controller.draws(lab)

    def published(self, name: str) -> float:
        """A number of the paper."""
        value = self.lab.published[name].value
        assert value is not None
        return value

    @cached_property
    def _pairs(self) -> pl.DataFrame:
        return copies.measured(self.results["pairs"])

    @cached_property
    def rates(self) -> Rates:
        """Goodput over the testbed's paths."""
        return Rates.read(self._pairs, self.bed.label, self.bed.paths)

    @cached_property
    def other_rates(self) -> Rates:
        """Goodput over the testbed's paths in the other reading of the delay matrix."""
        return Rates.read(self._pairs, self.other_bed.label, self.other_bed.paths)

    @cached_property
    def gains(self) -> dict[tuple[str, int], Gain]:
        """Table 3, by the other metric and the number of flows; ``exact`` is the optimum over TCPBP."""
        found = _over_others(self.rates, self.bed, TCPBP, FLOWS)
        exact = {
            ("exact", flows): throughput.gain(self.rates, self.bed.chosen, EXACT, TCPBP, flows, self.bed.pairs)
            for flows in FLOWS
        }
        return found | exact

    @cached_property
    def other_gains(self) -> dict[str, Gain]:
        """Table 3 for ten flows with the other delay between 2 and 3."""
        found = _over_others(self.other_rates, self.other_bed, TCPBP, FLOWS[:1])
        return {label: gain for (label, _), gain in found.items()}

    @cached_property
    def optimum_gains(self) -> dict[tuple[str, int], Gain]:
        """Table 3 for the routes of least d sqrt(p), by the other metric and the number of flows."""
        return _over_others(self.rates, self.bed, EXACT, FLOWS)

    @cached_property
    def other_optimum_gains(self) -> dict[str, Gain]:
        """The same for ten flows with the other delay between 2 and 3."""
        found = _over_others(self.other_rates, self.other_bed, EXACT, FLOWS[:1])
        return {label: gain for (label, _), gain in found.items()}

    @cached_property
    def lower_number(self) -> Gain:
        """Table 3 for ten flows, over hop-count with ties broken by the lower node number."""
        chosen = self.bed.chosen
        return throughput.gain(self.rates, chosen, TCPBP, networks.PLAIN_HOPS, FLOWS[0], self.bed.pairs)

    @cached_property
    def averaged_ties(self) -> Estimate:
        """Table 3's ratio for ten flows, over hop-count that uses all its tied paths equally."""
        return over_seeds(
            [throughput.averaged_over_ties(self.bed, self.rates, FLOWS[0], seed) for seed in self.rates.seeds]
        )

    @cached_property
    def ties(self) -> throughput.TieBreaks:
        """Tables 2 and 3 over all ways to break ties, for ten flows."""
        return throughput.tie_breaks(self.bed, self.rates, FLOWS[0])

    @cached_property
    def data_losses(self) -> tuple[Rates, dict[str, Gain]]:
        """Goodput and Table 3 for ten flows on links that lose no ACKs."""
        rates = Rates.read(copies.measured(self.results["data-losses"]), networks.name, self.bed.paths)
        return rates, {
            label: throughput.gain(rates, self.bed.chosen, TCPBP, metric, FLOWS[0], self.bed.pairs)
            for label, metric in OTHERS.items()
        }

    @cached_property
    def together(self) -> Mapping[tuple[str, int], Estimate]:
        """Table 3's ratio on differing routes if the flows of all metrics run at once."""
        return together.gains(self.bed, self.results["together"])

    @cached_property
    def without_capacity(self) -> dict[str, Gain]:
        """Table 3 for fifty flows over differing routes with links of 10 Gbit/s."""
        table = copies.measured(self.results["capacity"])
        found = {}
        for label, metric in OTHERS.items():
            chosen = self.bed.chosen
            pairs = [pair for pair in self.bed.pairs if chosen[TCPBP][pair] != chosen[metric][pair]]
            paths = sorted({chosen[one][pair] for one in (TCPBP, metric) for pair in pairs})
            rates = Rates.read(table, networks.name, paths)
            found[label] = throughput.gain(rates, chosen, TCPBP, metric, FLOWS[-1], pairs)
        return found

    def scaled_gain(self, label: str, flows: int, bps_per_unit: float) -> float:
        """Table 3's ratio if a flow had ``bps_per_unit`` for each unit of 1 / (RTT sqrt(p)), at most its share of 1 Gbit/s."""
        rate = networks.law(self.bed.topology)
        chosen, metric = self.bed.chosen, OTHERS[label]
        ratios = [
            min(rate(chosen[TCPBP][pair]) * bps_per_unit, 1e9 / flows)
            / min(rate(chosen[metric][pair]) * bps_per_unit, 1e9 / flows)
            for pair in self.bed.pairs
            if chosen[TCPBP][pair] != chosen[metric][pair]
        ]
        return sum(ratios) / len(ratios)

    @cached_property
    def jain(self) -> dict[tuple[str, int], Estimate]:
        """Table 5, by metric and number of flows."""
        return {
            (label, flows): throughput.jain(self.rates, self.bed.chosen, metric, flows, self.bed.pairs)
            for label, metric in METRICS.items()
            for flows in FLOWS
        }

    @cached_property
    def jain_by_window(self) -> dict[int, Estimate]:
        """Jain's index of ten flows from 1 to 10, by the length of the window in seconds."""
        return fairness.by_window(self.results["fairness"])

    @cached_property
    def from_the_start(self) -> dict[str, Estimate]:
        """Goodput in Mbit/s of each of ten flows from 1 to 10 without a warm-up, by routing."""
        return fairness.from_the_start(self.results["fairness"])

    @cached_property
    def comparison(self) -> MetricComparison:
        """Metrics side by side on the testbed, with the pairs for which the heuristic misses the optimum."""
        return compare(self.bed.topology, ["hop-count", DELAY], once=True)

    @cached_property
    def one_way_only(self) -> list[Pair]:
        """The pairs whose route by TCPBP is not the route back reversed, although all links are alike in both directions."""
        chosen = self.bed.chosen[TCPBP]
        return [pair for pair in self.bed.pairs if chosen[pair] != chosen[pair[::-1]][::-1]]

    def law_value(self, route: str) -> float:
        """1 / (RTT sqrt(p)) of a path from the matrices."""
        return networks.law(self.bed.topology)(tuple(route.split("-")))

    def route_rates(self, route: str, flows: int = FLOWS[0]) -> list[float]:
        """Goodput of a flow over a path for each seed, Mbit/s."""
        return [self.rates.bps(tuple(route.split("-")), flows, seed) / 1e6 for seed in self.rates.seeds]

    def route_rate(self, route: str, flows: int = FLOWS[0]) -> Estimate:
        """Goodput of a flow over a path, Mbit/s."""
        return over_seeds(self.route_rates(route, flows))

    @cached_property
    def absolute(self) -> Mapping[tuple[tuple[str, int], str], Estimate]:
        """Rates with settings that might give Table 4's, by setting and route, Mbit/s."""
        return absolute.rates(self.results["absolute"])

    @cached_property
    def sweep(self) -> pl.DataFrame:
        """Goodput of one flow over one link, by stack, delay and loss."""
        return law.sweep(self.results["law"])

    @cached_property
    def agreement(self) -> law.Agreement:
        """Agreement with the law on the testbed's paths, for ten flows."""
        return law.on_testbed(self.bed, self.rates, FLOWS[0])

    @cached_property
    def noise(self) -> dict[str, dict[str, Any]]:
        """Counts of Table 2 and values of Table 4 over many draws of the link values, by reading."""
        return {reading: controller.counts(self.lab, reading) for reading in networks.READINGS}

    @cached_property
    def measured_gains(self) -> dict[tuple[str, int], Estimate]:
        """Table 3's ratio on differing routes with drawn link values and the controller's routes, as a mean over draws."""
        found: dict[tuple[str, int], list[float]] = {}
        for draw in self.draws:
            rates = draw.rates(self.results)
            for label, metric in OTHERS.items():
                for flows in sorted({flows for _, flows, _ in rates.of}):
                    one = throughput.gain(rates, draw.chosen, TCPBP, metric, flows, self.bed.pairs)
                    found.setdefault((label, flows), []).append(one.on_differing[0])
        return {key: over_seeds(values) for key, values in found.items()}

    @cached_property
    def measured_same(self) -> dict[str, Estimate]:
        """Table 2's counts with the controller's routes, as means over draws."""
        return {
            label: over_seeds(
                [
                    float(sum(draw.chosen[TCPBP][pair] == draw.chosen[metric][pair] for pair in self.bed.pairs))
                    for draw in self.draws
                ]
            )
            for label, metric in OTHERS.items()
        }

    @cached_property
    def found_best(self) -> dict[str, Estimate]:
        """The share of the controller's routes that are the routes by the true link values."""
        return {metric: controller.best_share(self.draws, metric) for metric in controller.MEASURED}

    @cached_property
    def hysteresis(self) -> pl.DataFrame:
        """Changes of routes a minute in a network that does not change, and under flows; goodput of these flows in Mbit/s; by threshold."""
        result = self.results["hysteresis"]
        moved = controller.changes(result)
        table = flows_of(result).filter(pl.col("traffic") == "flows")
        goodput = table.group_by("hysteresis", "seed", maintain_order=True).agg(mbps=pl.col("goodput_bps").sum() / 1e6)
        joined = goodput.join(moved, on=["hysteresis", "seed"], how="left", maintain_order="left").fill_null(0)
        parts = [
            summary(joined, ["hysteresis"], name).rename({"mean": name, "half_width": f"{name}_half"})
            for name in ("steady", "flows", "mbps")
        ]
        return parts[0].join(parts[1], on="hysteresis").join(parts[2], on="hysteresis")

    @cached_property
    def sharing(self) -> pl.DataFrame:
        """Goodput of all flows from 1 to 10 together, Mbit/s, by number of flows and routing."""
        table = flows_of(self.results["sharing"]).rename({"routing": "way"})
        sums = table.group_by("flows", "way", "seed", maintain_order=True).agg(mbps=pl.col("goodput_bps").sum() / 1e6)
        return summary(sums, ["flows", "way"], "mbps")

    @cached_property
    def asymmetry(self) -> dict[tuple[str, str], dict[str, Estimate]]:
        """Predicted share of pairs that differ, and predicted mean ratios, over many draws, by shape and kind."""
        return {
            (shape, kind): {
                name: over_seeds(values)
                for name, values in asymmetry.predicted(self.lab, shape, kind).items()
                if values
            }
            for shape in asymmetry.shapes(self.lab)
            for kind in asymmetry.KINDS
        }

    @cached_property
    def asymmetry_measured(self) -> dict[tuple[str, str], Estimate]:
        """Measured mean ratio on differing pairs, by shape and kind."""
        return {
            (shape, kind): asymmetry.measured(self.lab, self.results, shape, kind)
            for shape in (asymmetry.TEN, asymmetry.BACKBONE)
            for kind in asymmetry.KINDS
        }

    @cached_property
    def round_trips(self) -> dict[str, Any]:
        """Round trips of the best paths each way against the best round trips."""
        return asymmetry.round_trips_missed(self.lab)

    @cached_property
    def timings(self) -> dict[str, dict[str, float]]:
        """CPU times of Table 6, also for larger networks."""
        return running_times.timings(self.lab)


def _over_others(rates: Rates, bed: Testbed, metric: str, counts: Sequence[int]) -> dict[tuple[str, int], Gain]:
    """The gain of a metric's routes over those of the paper's other metrics, by their name and the number of flows."""
    return {
        (label, flows): throughput.gain(rates, bed.chosen, metric, other, flows, bed.pairs)
        for label, other in OTHERS.items()
        for flows in counts
    }
