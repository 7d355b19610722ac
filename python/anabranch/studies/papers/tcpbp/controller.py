"""The testbed as it was: link values within 5 %, a controller that measures them, and routes by its measurements."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import polars as pl
import tomlkit

from anabranch.foundation.output_files import write_text
from anabranch.network.topologies import Topology
from anabranch.results.result import Result
from anabranch.results.schema import PATH_SEPARATOR
from anabranch.studies.papers.measures import over_seeds, with_variants
from anabranch.studies.papers.study import Experiment, Lab
from anabranch.studies.papers.tcpbp import copies, networks
from anabranch.studies.papers.tcpbp.networks import DELAY, EXACT, HOPS, TCPBP, Chosen, Pair, Path, name
from anabranch.studies.papers.tcpbp.throughput import FLOWS, Rates

FILE = "link-state.toml"
MEASURED = (TCPBP, EXACT, DELAY)
"""Metrics that use measurements; hop-count does not."""
_WHOLE_S = 30
"""Time from which on averages have three samples, s."""


@dataclass(frozen=True)
class Draw:
    """One set of link values, and the routes of the controller that measured them."""

    lab: Lab
    seed: int

    @cached_property
    def topology(self) -> Topology:
        """The network with the link values of this draw."""
        return networks.noisy(networks.ten_nodes(), self.seed)

    @cached_property
    def chosen(self) -> Chosen:
        """The routes after the probes, by the measured values; hop-count's routes use the true values."""
        found = self.lab.kept("controller", [self.seed, self._text()], self._measure)
        by_metric: dict[str, Mapping[Pair, Path]] = {
            metric: {(source, target): tuple(path) for source, target, path in found[metric]} for metric in MEASURED
        }
        by_metric.update(networks.chosen(self.topology, (HOPS,)))
        return by_metric

    @cached_property
    def best(self) -> Chosen:
        """The routes by the true values."""
        return networks.chosen(self.topology, MEASURED)

    @cached_property
    def paths(self) -> list[Path]:
        """All paths of the controller's routes."""
        pairs = networks.pairs(self.topology)
        return sorted({self.chosen[metric][pair] for metric in self.chosen for pair in pairs})

    def label(self, path: Path) -> str:
        """The name of a path's copy."""
        return name(path)

    def experiment(self) -> Experiment:
        """The experiment that measures flows over these routes."""
        scenario = copies.scenario(
            self.lab,
            f"measured-{self.seed}.toml",
            f"Routes that the controller found with link values of draw {self.seed}",
            [copies.copy_of(self.label(path), self.topology, path) for path in self.paths],
            flows=FLOWS[:1] if self.lab.quick else FLOWS,
            duration_s=8 if self.lab.quick else 15,
            warm_up_s=2 if self.lab.quick else 5,
            seeds=1,
        )
        return Experiment(f"measured-{self.seed}", scenario)

    def rates(self, results: Mapping[str, Result]) -> Rates:
        """The goodput of flows over these routes."""
        table = copies.measured(results[f"measured-{self.seed}"])
        return Rates.read(table, self.label, self.paths)

    def _text(self) -> str:
        """The scenario of the probes with the links of this draw."""
        document = tomllib.loads((self.lab.folder / "scenarios" / FILE).read_text(encoding="utf-8"))
        document["topology"] = {
            "capacity": "1Gbps",
            "links": [
                {
                    "source": link.source,
                    "target": link.target,
                    "directed": True,
                    "delay": f"{(link.delay_s or 0) * 1e12:.0f}ps",
                    "loss": link.loss,
                }
                for link in self.topology.links
            ],
        }
        document["run"] = {"duration": "41s" if self.lab.quick else "121s", "seed": self.seed}
        return tomlkit.dumps(document)

    def _measure(self) -> dict[str, list[list[Any]]]:
        from anabranch.runs import execute
        from anabranch.scenario import Scenario

        text = self._text()
        file = self.lab.directory / "scenarios" / f"link-state-{self.seed}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text)
        last = execute(Scenario.from_toml(text), jobs=1, show_progress=False).routes.sort("time_s", maintain_order=True)
        found: dict[str, list[list[Any]]] = {}
        for row in last.group_by("routing", "src", "dst", maintain_order=True).last().iter_rows(named=True):
            found.setdefault(row["routing"], []).append([row["src"], row["dst"], row["path"].split(PATH_SEPARATOR)])
        return found


def draws(lab: Lab) -> list[Draw]:
    """The draws of the study."""
    count = lab.seeds or (2 if lab.quick else 5)
    return [Draw(lab, seed) for seed in range(1, count + 1)]


def experiments(lab: Lab) -> list[Experiment]:
    """The experiments: flows over the controller's routes, changes of routes by threshold, and sharing over routes of close cost."""
    quick = {
        "run.seeds": "2",
        "run.duration": "140s",
        "routing.measured.link_state.hysteresis": "[0.0, 0.2]",
        "traffic[0].poisson": "10Mbps",  # fewer probes: noisier measurements, so more changes to count
    }
    return [
        *(draw.experiment() for draw in draws(lab)),
        Experiment("hysteresis", lab.scenario("hysteresis.toml", quick=quick)),
        Experiment(
            "sharing", lab.scenario("sharing.toml", quick={"run.seeds": "2", "run.duration": "6s", "run.warm_up": "2s"})
        ),
    ]


def best_share(draws: Sequence[Draw], metric: str) -> tuple[float, float | None]:
    """The share of pairs for which the controller found the route by the true values."""
    pairs = networks.pairs(networks.ten_nodes())
    return over_seeds([fmean(draw.chosen[metric][pair] == draw.best[metric][pair] for pair in pairs) for draw in draws])


def counts(lab: Lab, reading: str) -> dict[str, Any]:
    """Results of many draws of the link values.

    ``same``: number of TCPBP's routes that are hop-count's and delay's. ``law``: equation 2 for the three routes of the paper's pair.
    """
    number = 100 if lab.quick else 1000

    def compute() -> dict[str, Any]:
        same: dict[str, list[int]] = {HOPS: [], DELAY: []}
        values: dict[str, list[float]] = {path: [] for path in ("1-3-4-10", "1-5-10", "1-5-4-10")}
        for seed in range(1, number + 1):
            topology = networks.noisy(networks.ten_nodes(reading), seed)
            routes = networks.chosen(topology, (TCPBP, HOPS, DELAY))
            for metric, found in same.items():
                found.append(sum(routes[TCPBP][pair] == routes[metric][pair] for pair in networks.pairs(topology)))
            rate = networks.law(topology)
            for path, found_values in values.items():
                found_values.append(rate(tuple(path.split("-"))))
        return {"same": same, "law": values}

    found: dict[str, Any] = lab.kept("noise", [reading, number], compute)
    return found


def changes(result: Result) -> pl.DataFrame:
    """Changes of routes a minute, by threshold and seed.

    ``steady``: changes of any route from 30 s to the end of the probes. ``flows``: changes of the route from 1 to 10 after that.
    """
    table = with_variants(result, result.routes)
    run = result.manifest["runs"][0]
    probed, end = run["warm_up_s"], run["simulated_s"]
    steady = pl.col("time_s").is_between(_WHOLE_S, probed, closed="right")
    flows = (pl.col("time_s") > probed) & (pl.col("src") == "1") & (pl.col("dst") == "10")
    return table.group_by("hysteresis", "seed", maintain_order=True).agg(
        steady=steady.sum() / (probed - _WHOLE_S) * 60, flows=flows.sum() / (end - probed) * 60
    )
