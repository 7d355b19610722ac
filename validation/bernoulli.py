"""One flow of the NewReno family under random loss, against the full model of Padhye et al. 1998, and how often it times out."""

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

from validation import formulas
from validation.section import Section, megabits, percent
from validation.work import Measured, Sample, in_parallel, measure, one_link

MSS_BITS = 1460 * 8
RATE = "1Gbps"
TOLERANCE = 0.20
TIMEOUTS = 0.05
"""Greatest number of timeouts for each lost packet."""
MIN_RTO_S = 0.2
LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
STACKS: Mapping[str, Mapping[str, Any]] = {
    "newreno": {"preset": "newreno"},
    "newreno, rack-tlp": {"congestion": "newreno", "detection": "rack-tlp"},
    "linux-reno": {"preset": "linux-reno"},
}


def run(quick: bool) -> Section:
    """Compare every stack, loss ratio and round-trip time."""
    round_trips = (0.1, 0.6) if quick else (0.05, 0.1, 0.2, 0.4, 0.6)
    seeds, counted = (4, 200) if quick else (10, 300)
    cells = list(product(STACKS, round_trips, LOSSES))
    jobs = [partial(measure_cell, *cell, counted, seed) for cell in cells for seed in range(1, seeds + 1)]
    results = iter(in_parallel("Random loss", jobs))
    rows, worst, most_timeouts = [], 0.0, 0.0
    for stack, rtt, loss in cells:
        model = formulas.pftk(loss, rtt, max(MIN_RTO_S, rtt)) * (1 - loss) * MSS_BITS
        runs = [next(results) for _ in range(seeds)]
        goodput = Sample.of([run.goodput_bps for run in runs])
        timeouts = sum(run.timeouts for run in runs) / sum(run.retransmits - run.spurious_retransmits for run in runs)
        ratio = goodput.mean / model
        worst, most_timeouts = max(worst, abs(ratio - 1)), max(most_timeouts, timeouts)
        rows.append(
            [
                stack,
                f"{rtt * 1e3:.0f} ms",
                f"{loss:g}",
                megabits(model),
                f"{megabits(goodput.mean)} ± {megabits(goodput.error)}",
                f"{percent(ratio)} ± {ratio * goodput.relative_error * 100:.1f}",
                percent(goodput.mean / (formulas.mathis(loss, rtt) * MSS_BITS)),
                f"{timeouts:.4f}",
            ]
        )
    return Section(
        key="bernoulli",
        title="Goodput under random loss",
        model="Padhye et al. 1998, the full model (newreno)",
        how=(
            f"One bulk flow over a {RATE} link that loses each data packet independently; segments of 1460 bytes. "
            "newreno acknowledges every segment (b = 1), linux-reno as Linux does. T0 is the greater of the RTT and the "
            f"least timeout, {MIN_RTO_S * 1e3:.0f} ms. Mean ± standard error over {seeds} seeds of {counted} losses each. "
            "The model's sending rate less the lost packets is compared. Timeouts are for each lost packet."
        ),
        columns=("stack", "RTT", "loss", "model, Mbit/s", "goodput, Mbit/s", "deviation", "from Mathis", "timeouts"),
        rows=rows,
        passed=worst <= TOLERANCE and most_timeouts <= TIMEOUTS,
        verdict=(
            f"the greatest deviation is {worst * 100:.1f} % (at most {TOLERANCE * 100:.0f} % is asked for), and at most "
            f"{most_timeouts:.3f} timeouts follow a loss (at most {TIMEOUTS:g} are asked for)"
        ),
        notes=(
            "The model describes Reno, which loses the remainder of a round after its first loss and then often times out. With SACK the same "
            "losses cost no timeout. So this engine is above the model where timeouts weigh most.",
            "newreno times out where a retransmission is lost, about once in 1/p losses; RACK finds that loss as well.",
        ),
    )


def measure_cell(stack: str, rtt: float, loss: float, counted: int, seed: int) -> Measured:
    """One run of a stack, of about that many losses after a warm-up of 20."""
    per_loss_s = 1 / (loss * formulas.mathis(loss, rtt))
    document = one_link(
        STACKS[stack],
        rate=RATE,
        round_trip_s=rtt,
        duration_s=(20 + counted) * per_loss_s,
        warm_up_s=20 * per_loss_s,
        loss=loss,
    )
    return measure(document, seed)
