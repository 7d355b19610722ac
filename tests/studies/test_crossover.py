"""The best path by the size of a transfer, judged by the packet engine."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.cli import status
from anabranch.network.topologies import Link, Node, Topology, load
from anabranch.scenario import Scenario
from anabranch.studies.crossover import Crossover


def test_a_fast_narrow_and_a_slow_wide_path_cross_where_arithmetic_says() -> None:
    # 1 Mbit/s after 1 ms, or 1 Gbit/s after 50 ms. The wide path takes a round trip for the handshake, another for the first ten segments,
    # and half a one for the rest: 250 ms for 15 to 43 kB. In 248 ms, the narrow path carries 30 kB. The sizes tried are a factor of 1.2 apart.
    def both(one: str, other: str, rate: int, delay: float) -> tuple[Link, Link]:
        return Link(one, other, rate, delay, None, 0.0), Link(other, one, rate, delay, None, 0.0)

    links = (
        *both("a", "n", 10**6, 5e-4),
        *both("n", "b", 10**6, 5e-4),
        *both("a", "w", 10**9, 0.025),
        *both("w", "b", 10**9, 0.025),
    )
    topology = Topology("two", tuple(Node(name) for name in "anwb"), links)
    found = Crossover(topology, "a", "b", "linux-cubic").ranges
    assert [one.path.nodes for one in found] == [("a", "n", "b"), ("a", "w", "b")]
    assert 30_000 / 1.2 < found[0].below_bytes < 30_000 * 1.2


@pytest.mark.slow("some seconds: transfers of 10 MB over lossy paths")
def test_the_pair_of_the_paper_changes_its_path_and_the_packet_engine_agrees() -> None:
    topology = load("tcpbp10")
    crossover = Crossover(topology, "1", "10", "linux-cubic")
    small, large = crossover.path_for(10_000), crossover.path_for(1_000_000)
    assert (small.delay_s or 0) < (large.delay_s or 0)
    assert (small.loss or 0) > (large.loss or 0)
    means = {}
    for size in (10_000, 1_000_000):
        for name, path in (("small", small), ("large", large)):
            scenario = Scenario(
                {
                    "topology": {"from": "tcpbp10"},
                    "routing": {"r": {"paths": [list(path.nodes)]}},
                    "stacks": {"s": {"preset": "linux-cubic"}},
                    "traffic": [
                        {
                            "from": "1",
                            "to": "10",
                            "size": f"{size}B",
                            "stack": "s",
                            "routing": "r",
                            "start": f"{60 * at}s",
                        }
                        for at in range(10)
                    ],
                    "run": {"duration": "700s", "seeds": 8},
                }
            )
            means[size, name] = float(np.nanmedian(scenario.run().flows["fct_s"].to_numpy()))
    assert means[10_000, "small"] < means[10_000, "large"]
    assert means[1_000_000, "large"] < means[1_000_000, "small"]
    predicted = {
        size: min(times)
        for size, times in zip((10_000, 1_000_000), crossover.seconds([10_000, 1_000_000]), strict=True)
    }
    assert predicted[10_000] == pytest.approx(means[10_000, "small"], rel=0.15)
    assert predicted[1_000_000] == pytest.approx(means[1_000_000, "large"], rel=0.25)


def network(tmp_path: Path) -> str:
    file = tmp_path / "two.csv"
    file.write_text(
        "source,target,delay,loss,capacity\na,n,500us,0,1Mbps\nn,b,500us,0,1Mbps\na,w,25ms,0,1Gbps\nw,b,25ms,0,1Gbps\n"
    )
    return str(file)


def test_the_command_shows_and_exports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["routes", network(tmp_path), "--from", "a", "--to", "b", "--crossover", "linux-cubic"]
    assert status([*command, "--json"]) == 0
    ranges = json.loads(capsys.readouterr().out)["ranges"]
    assert [one["path"] for one in ranges] == [["a", "n", "b"], ["a", "w", "b"]]
    assert status(command) == 0
    assert "The best path changes at" in capsys.readouterr().out
    out = tmp_path / "rules"
    assert status([*command, "--export", "openflow13", "--source-port", "5001=5kB", "--out", str(out)]) == 0
    rules = "".join(file.read_text() for file in out.rglob("*") if file.is_file())
    assert "5001" in rules


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "a", "--crossover", "linux-cubic"], "give one --from and one --to"),
        (["--from", "a", "--to", "b", "--crossover", "linux-cubik"], 'did you mean "linux-cubic"?'),
        (["--from", "a", "--to", "b", "--crossover", "linux-cubic", "--metric", "delay"], "--metric and --crossover"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["routes", network(tmp_path), *options]) != 0
    assert message in capsys.readouterr().err
