"""Figure 4: the time that Kikolo spends in its states, against the equilibrium of its equations."""

from __future__ import annotations

import numpy as np
import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers import charts, measures
from anabranch.studies.papers.kikolo.cells import Cell, Cells, cells, frame, power, rates
from anabranch.studies.papers.study import Claim, Number, Picture

STATES = ("S0", "S1", "S2", "S3")
RATIO = "ACKs for each duplicate"
RATIOS = (1.0, 10.0, 20.0, 30.0)
"""The paper's numbers of ACKs for each duplicate ACK (section III.B)."""
MOSTLY, CLOSE, ONE_PERCENT = 0.5, 0.05, 1e-2
"""Share of time that counts as most of it; greatest difference that counts as agreement; packet error rate below which the paper claims both."""
SEGMENT_BITS = 1460 * 8


def equilibrium(ratio: float) -> dict[str, float]:
    """Shares of time with ``ratio`` ACKs for each duplicate ACK (equations 1 to 4, the second read as the balance of S3)."""
    shares = (1.0, ratio / (1 + ratio), ratio * ratio, ratio * ratio / (1 + ratio))
    return dict(zip(STATES, (share / sum(shares) for share in shares), strict=True))


def printed_residual(ratio: float) -> float:
    """The least singular value of the printed equations (1) to (4), over the greatest; 0 means that they have a solution."""
    up, down = ratio, 1.0
    matrix = np.array(
        [
            [up, -(up + down), 0, 0],
            [down, 0, 0, -(up + down)],
            [up, -down, 0, -down],
            [0, up, -down, up],
        ]
    )
    values = np.linalg.svd(matrix, compute_uv=False)
    return round(float(values[-1] / values[0]), 12)  # digits after the twelfth depend on the machine


def occupancy(result: Result) -> Cells:
    """Shares of time by state, as means over the flows, and the number of ACKs for each duplicate ACK."""
    times = measures.with_variants(result, result.states, {"stack": "variant_stack"})
    shares = times.group_by(["run", "loss", "state"], maintain_order=True).agg(pl.col("share").mean())
    found = dict(cells(shares.rename({"state": "variant"}), "share"))
    flows = measures.flows(result).filter(pl.col("stack") == "kikolo")
    # A loss makes duplicate ACKs for a round trip: one for each segment in flight.
    duplicates = pl.col("recoveries") * pl.col("goodput_bps") * pl.col("srtt_s") / SEGMENT_BITS
    counted = flows.group_by(["run", "loss"], maintain_order=True).agg(
        sent=pl.col("segments_sent").sum(), duplicates=duplicates.sum()
    )
    ratio = counted.with_columns(variant=pl.lit(RATIO), ratio=pl.col("sent") / pl.col("duplicates") - 1)
    return found | cells(ratio, "ratio")


def claims(found: dict[str, Cells]) -> list[Claim]:
    """The claims, from the occupancy of the states by link rate."""
    low = [(rate, loss, one["S2", loss]) for rate, one in found.items() for loss in rates(one, below=ONE_PERCENT)]
    worst = min(low, key=lambda row: row[2].mean)
    mostly = sum(cell.mean >= MOSTLY for _, _, cell in low)
    apart = {
        state: max(
            (abs(one[state, loss].mean - equilibrium(one[RATIO, loss].mean)[state]), loss, rate)
            for rate, one in found.items()
            for loss in rates(one, below=ONE_PERCENT)
        )
        for state in STATES
    }
    least = min(one["S2", loss].mean for one in found.values() for loss in rates(one))
    inside = [state for state in STATES if apart[state][0] <= CLOSE]
    solvable = [ratio for ratio in RATIOS if printed_residual(ratio) < 1e-9]
    return [
        Claim(
            "figure-4-s2",
            "Figure 4",
            "Kikolo spends most of the time in S2 for packet error rates below 1 %.",
            "holds" if mostly == len(low) else "holds partly" if mostly else "does not hold",
            f"S2 has at least {100 * worst[2].mean:.1f} % of the time (at {power(worst[1])}, {worst[0]}); "
            f"at 1 % and above it falls to {100 * least:.0f} %.",
        ),
        Claim(
            "figure-4-equilibrium",
            "Figure 4",
            "The analytical state probabilities agree with the simulation (below 1 %).",
            "holds" if len(inside) == len(STATES) else "holds partly" if "S2" in inside else "does not hold",
            "With the measured ratio of ACKs to duplicate ACKs in the equations, the greatest difference below 1 % is "
            + ", ".join(f"{distance:.3f} for {state} ({power(loss)})" for state, (distance, loss, _) in apart.items())
            + f"; {CLOSE} is allowed.",
            ""
            if len(inside) == len(STATES)
            else "The equations take duplicate ACKs for a Poisson process, but a loss makes a row of them. The third follows the "
            "second at once, so Kikolo leaves S3 for S0 as soon as it enters it. S0 has the time that the equations give to S3. "
            "Under Poisson arrivals all four shares are those of the equations (tests of the algorithm).",
        ),
        Claim(
            "equations",
            "Section III.B",
            "Equations (1) to (4) have a solution for 1, 10, 20 and 30 ACKs for each duplicate ACK.",
            "holds" if len(solvable) == len(RATIOS) else "holds partly" if solvable else "does not hold",
            "As printed they have a solution for "
            + (", ".join(f"{ratio:g}" for ratio in solvable) or "none")
            + "; the least singular value is "
            + ", ".join(f"{printed_residual(ratio):.2g} ({ratio:g})" for ratio in RATIOS)
            + " of the greatest.",
            ""
            if len(solvable) == len(RATIOS)
            else "Equation (2) has P(C,0) where the balance of S3 has P(L,1). With P(L,1) the equations have a solution for every ratio.",
        ),
    ]


def picture(found: dict[str, Cells]) -> Picture:
    """Shares of time over packet error rates, with the equilibrium as crosses."""
    panels = []
    for rate, one in found.items():
        expected = [
            (state, loss, share) for loss in rates(one) for state, share in equilibrium(one[RATIO, loss].mean).items()
        ]
        columns = ["variant", "loss", "mean"]
        chart = charts.lines(
            frame(one, STATES),
            x="loss",
            colour="variant",
            x_title="Packet error rate",
            y_title="Share of time",
            order=STATES,
            log_x=True,
            published=pl.DataFrame(expected, schema=columns, orient="row"),
        )
        panels.append((f"15 flows, {rate}", chart))
    return Picture(
        "figure-4",
        "Figure 4",
        "Time in the states. Crosses are the equilibrium of the corrected equations at the measured ratio of ACKs to duplicate ACKs. "
        "S2 agrees. S0 has the share that the equations give to S3.",
        charts.side_by_side(panels),
    )


def numbers(found: dict[str, Cells]) -> list[Number]:
    """The equilibrium share of S2 at the paper's ratios, and the measured share of S2."""
    made = [
        Number(
            f"equilibrium-s2-{ratio:g}",
            equilibrium(ratio)["S2"],
            what=f"share of time in S2 in equilibrium, {ratio:g} ACKs for each duplicate ACK",
            where="Section III.B",
            remark="computed, not simulated",
        )
        for ratio in RATIOS
    ]
    for rate, one in found.items():
        for loss in rates(one):
            cell: Cell = one["S2", loss]
            made.append(
                Number(
                    f"figure-4-s2-{power(loss)}-{rate.split()[0]}",
                    cell.mean,
                    cell.half_width,
                    what=f"share of time in S2, packet error rate {power(loss)}, {rate}",
                    where="Figure 4",
                    remark=f"equilibrium {equilibrium(one[RATIO, loss].mean)['S2']:.3f} at {one[RATIO, loss].mean:.1f} "
                    "ACKs for each duplicate",
                )
            )
    return made
