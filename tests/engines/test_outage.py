"""A loss of 1 is an outage: nothing passes while it lasts, and what is sent afterwards does."""

import pytest

from anabranch.scenario import Scenario

TEXT = """
[topology]
links = [{ source = "A", target = "B" }, { source = "B", target = "C" }, { source = "A", target = "D" }, { source = "D", target = "C" }]

[routing.x]
metric = "METRIC"

[[traffic]]
from = "A"
to = "C"
transport = "udp"
constant = "1Mbps"

[run]
duration = "2s"
"""


def delivered(more: str, metric: str = "hop-count") -> float:
    return float(Scenario.from_toml(TEXT.replace("METRIC", metric) + more).run().flows["delivered_bytes"][0])


@pytest.mark.parametrize(
    "loss",
    [
        "1",
        "1.0",
        '{ model = "bernoulli", ratio = 1 }',
        '{ model = "periodic", every = 1 }',
        '{ model = "gilbert-elliott", good_to_bad = 1, bad_to_good = 0 }',
    ],
)
def test_nothing_passes_while_it_lasts(loss: str) -> None:
    whole = delivered("")
    outage = f'[[events]]\nat = "0.5s"\nimpair = {{ link = ["A", "B"], loss = {loss} }}\n'
    over = '[[events]]\nat = "1.5s"\nimpair = { link = ["A", "B"], loss = 0 }\n'
    assert delivered(f'[[impairments]]\nlink = ["A", "B"]\nloss = {loss}\n') == 0
    assert delivered(outage) == pytest.approx(whole / 4, rel=0.05)
    assert delivered(outage + over) == pytest.approx(whole / 2, rel=0.05)


@pytest.mark.parametrize("metric", ["loss", "tcpbp", "tcpbp-exact"])
def test_routes_that_mind_losses_go_round_it(metric: str) -> None:
    """The other way loses a little, and is as long."""
    little = '[[impairments]]\nlink = ["A", "D"]\nloss = 0.001\n'
    outage = '[[impairments]]\nlink = ["A", "B"]\nloss = 1\n'
    assert delivered(little + outage, metric) == pytest.approx(delivered(""), rel=0.02)
