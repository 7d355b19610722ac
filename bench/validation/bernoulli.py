"""One newreno flow under random loss, against the full model of Padhye et al. 1998."""

from functools import partial
from itertools import product

from bench.validation import formulas
from bench.validation.section import Section, megabits, percent
from bench.validation.work import Sample, in_parallel, measure, one_link

MSS_BITS = 1460 * 8
RATE = "1Gbps"
TOLERANCE = 0.20
MIN_RTO_S = 0.2
LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)


def run(quick: bool) -> Section:
    """Compare every loss ratio and round-trip time."""
    round_trips = (0.1,) if quick else (0.05, 0.1, 0.2)
    seeds, counted = (4, 200) if quick else (10, 300)
    cells = list(product(round_trips, LOSSES))
    jobs = [partial(_goodput_bps, *cell, counted, seed) for cell in cells for seed in range(1, seeds + 1)]
    results = iter(in_parallel("Random loss", jobs))
    rows, worst = [], 0.0
    for rtt, loss in cells:
        model = formulas.pftk(loss, rtt, max(MIN_RTO_S, rtt)) * (1 - loss) * MSS_BITS
        goodput = Sample.of([next(results) for _ in range(seeds)])
        ratio = goodput.mean / model
        worst = max(worst, abs(ratio - 1))
        rows.append(
            [
                f"{rtt * 1e3:.0f} ms",
                f"{loss:g}",
                megabits(model),
                f"{megabits(goodput.mean)} ± {megabits(goodput.error)}",
                f"{percent(ratio)} ± {ratio * goodput.relative_error * 100:.1f}",
                percent(goodput.mean / (formulas.mathis(loss, rtt) * MSS_BITS)),
            ]
        )
    return Section(
        key="bernoulli",
        title="Goodput under random loss",
        model="Padhye et al. 1998, the full model (newreno)",
        how=(
            f"One bulk newreno flow over a {RATE} link that loses each data packet independently; segments of 1460 "
            "bytes, every one "
            f"acknowledged (b = 1); T0 is the greater of the RTT and the least timeout, {MIN_RTO_S * 1e3:.0f} ms. "
            "Mean ± standard "
            f"error over {seeds} seeds of {counted} losses each. The model's sending rate less the lost packets is "
            "compared."
        ),
        columns=("RTT", "loss", "model, Mbit/s", "goodput, Mbit/s", "deviation", "from Mathis"),
        rows=rows,
        passed=worst <= TOLERANCE,
        verdict=f"the greatest deviation is {worst * 100:.1f} % (at most {TOLERANCE * 100:.0f} % is asked for)",
        notes=(
            "The model is of Reno, which loses the rest of a round after its first loss and then often times out; "
            "with SACK "
            "the same losses cost no timeout, so this engine is above the model where timeouts weigh most.",
        ),
    )


def _goodput_bps(rtt: float, loss: float, counted: int, seed: int) -> float:
    per_loss_s = 1 / (loss * formulas.mathis(loss, rtt))
    document = one_link(
        {"preset": "newreno"},
        rate=RATE,
        round_trip_s=rtt,
        duration_s=(20 + counted) * per_loss_s,
        warm_up_s=20 * per_loss_s,
        loss=loss,
    )
    return measure(document, seed).goodput_bps
