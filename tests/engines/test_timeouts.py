"""The retransmission timer where the RTT exceeds the margin of its timeout."""

import pytest

from validation.bernoulli import STACKS, measure_cell


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("round_trip_s", [0.15, 0.6])
def test_a_loss_on_a_long_path_costs_no_timeout(stack: str, round_trip_s: float) -> None:
    """RFC 6675 section 6: the timer runs from the repair, so that only a lost repair or the loss of a whole window lets it expire."""
    run = measure_cell(stack, round_trip_s, 3e-3, 200, 1)
    assert run.timeouts <= 0.01 * (run.retransmits - run.spurious_retransmits)
