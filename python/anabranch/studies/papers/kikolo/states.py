"""Figure 4: the time that Kikolo spends in its states, against the equilibrium of its equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from anabranch.results.result import Result
from anabranch.studies.papers import charts, measures, statements
from anabranch.studies.papers.kikolo.cells import Cell, Cells, cells, frame, power, rates
from anabranch.studies.papers.study import Claim, Number
from anabranch.studies.papers.verdicts import above, by_parts, graded

_CLAIMS = statements.beside(__file__)

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
    mostly = [above(cell.estimate, MOSTLY) for _, _, cell in low]
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
        _CLAIMS.claim(
            "figure-4-s2",
            by_parts(*mostly),
            share_percent=100 * worst[2].mean,
            loss=power(worst[1]),
            rate=worst[0],
            least_percent=100 * least,
        ),
        _CLAIMS.claim(
            "figure-4-equilibrium",
            graded(len(inside) == len(STATES), "S2" in inside),
            apart=", ".join(
                f"{distance:.3f} for {state} ({power(loss)})" for state, (distance, loss, _) in apart.items()
            ),
            close=CLOSE,
        ),
        _CLAIMS.claim(
            "equations",
            graded(len(solvable) == len(RATIOS), bool(solvable)),
            solvable=", ".join(f"{ratio:g}" for ratio in solvable) or "none",
            residuals=", ".join(f"{printed_residual(ratio):.2g} ({ratio:g})" for ratio in RATIOS),
        ),
    ]


def chart(found: dict[str, Cells]) -> Any:
    """Shares of time over packet error rates, with the equilibrium as crosses."""
    panels = []
    for rate, one in found.items():
        expected = [
            (state, loss, share) for loss in rates(one) for state, share in equilibrium(one[RATIO, loss].mean).items()
        ]
        columns = ["variant", "loss", "mean"]
        panel = charts.lines(
            frame(one, STATES),
            x="loss",
            colour="variant",
            x_title="Packet error rate",
            y_title="Share of time",
            order=STATES,
            log_x=True,
            published=pl.DataFrame(expected, schema=columns, orient="row"),
        )
        panels.append((f"15 flows, {rate}", panel))
    return charts.side_by_side(panels)


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
