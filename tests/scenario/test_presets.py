"""Presets of congestion controls have the loss detection that their authors use."""

import pytest

from anabranch.scenario import Scenario
from anabranch.scenario.stacks import PRESETS, preset_stack


@pytest.mark.parametrize("name", ["bbr", "bbr3", "linux-bbr"])
def test_bbr_has_rack_tlp_as_its_authors_use_it(name: str) -> None:
    assert preset_stack(name).detection.name == "rack-tlp"


def test_linux_bbr_differs_from_linux_cubic_in_the_congestion_control_only() -> None:
    bbr, cubic = (
        preset_stack(name).model_dump(exclude={"preset", "congestion"}) for name in ("linux-bbr", "linux-cubic")
    )
    assert bbr == cubic
    congestion = preset_stack("linux-bbr").congestion
    assert congestion is not None
    assert congestion.name == "linux-bbr"


def test_the_presets_of_linux_follow_linux_and_no_other_does() -> None:
    assert {name for name in PRESETS if preset_stack(name).follows == "linux"} == {
        name for name in PRESETS if name.startswith("linux-")
    }
    assert {preset_stack(name).follows for name in PRESETS} == {"rfc", "linux"}


def test_bbr3_does_not_retransmit_in_vain_after_the_losses_of_its_startup() -> None:
    """Nothing is reordered, so every spurious retransmission is the detector's error; duplicate ACKs make some 2,000."""
    scenario = Scenario(
        {
            "topology": {
                "links": [{"source": "A", "target": "B", "capacity": "100Mbps", "delay": "10ms"}],
                "queue": {"discipline": "drop-tail", "limit": "1 bdp"},
            },
            "traffic": [{"from": "A", "to": "B", "bulk": True, "stack": "bbr3"}],
            "run": {"duration": "30s"},
        }
    )
    (flow,) = scenario.run(seed=1).flows.to_dicts()
    assert flow["spurious_retransmits"] == 0
    assert flow["timeouts"] == 0
    assert flow["retransmits"] < 100
