"""Predicts the throughput of a pair's TCP connection when its packets are spread over paths of different delay.

A packet that takes a longer path is overtaken by packets sent after it that take shorter ones. If at least ``DUP_THRESH`` do,
the receiver's duplicate ACKs make a classic sender retransmit and halve its window, although nothing is lost. So reordering
counts as loss, with the ratio of packets that are overtaken so (section 4.2 of the paper counts overtaking packets the same way).

Packets leave at random times (Poisson) of rate ``f``, and the fractions ``x`` draw the path of every packet. Then a packet on path
``l`` is overtaken by Poisson(``f sum_s x_s max(0, d_l - d_s)``) packets. The rate is a fixed point: TCP's response
(:func:`anabranch.engineering.predict.mathis`) to the reordering at that rate. It is unique, since more packets mean more overtaking.
A sender that tolerates reordering only answers to the loss of the paths. If its stack is known, a detector that counts duplicate ACKs has its own threshold
here, and the spray price limits all others (:mod:`anabranch.engineering.plan.spray_stack`).
"""

from dataclasses import dataclass

import numpy as np

from anabranch.engineering.plan.spray_stack import SprayStack
from anabranch.engineering.predict import mathis
from anabranch.engineering.robust.candidates import Candidates
from anabranch.foundation.array_types import Booleans, Floats, Integers

DUP_THRESH = 3
_HALVINGS = 60
"""Steps of bisection: enough to halve any rate to rounding."""


@dataclass(frozen=True)
class Connection:
    """The TCP connection that represents each pair's traffic: by default that of the paper's section 6."""

    rate_bps: float = 10e6
    """The most that its application sends."""
    payload_bytes: int = 1000
    """Bytes of a segment's payload."""
    stack: SprayStack | None = None
    """The stack of hosts that tolerate reordering; without one, splits cost them nothing."""


def throughput(
    connection: Connection,
    delay_s: Floats,
    loss: Floats,
    fraction: Floats,
    start: Integers,
    tolerant: Booleans,
    carried_bps: Floats | float = np.inf,
) -> Floats:
    """The predicted throughput of each of several splits, bit/s; shape (splits,).

    Args:
        connection: the TCP connection of each split.
        delay_s: one-way delay of each path, seconds; shape (paths,), split after split.
        loss: ratio of packets lost on each path; shape (paths,).
        fraction: share of the packets that takes each path; shape (paths,), of each split adding up to 1.
        start: the paths of split ``k`` stand from ``start[k]`` to ``start[k + 1]``; shape (splits + 1,).
        tolerant: whether the hosts of each split tolerate reordering; shape (splits,).
        carried_bps: the most that the links of each split carry of its connection; shape (splits,), or one for all.
    """
    splits = len(start) - 1
    split = np.repeat(np.arange(splits), np.diff(start))
    rtt = 2 * np.bincount(split, weights=fraction * delay_s, minlength=splits)
    lost = np.bincount(split, weights=fraction * loss, minlength=splits)
    lead = _lead(delay_s, fraction, start, split)
    threshold = np.full(splits, DUP_THRESH)
    stack = connection.stack
    if stack is not None and stack.counts:
        counted = np.array([stack.duplicates(paths) for paths in np.diff(start).tolist()])
        threshold = np.where(tolerant, counted, threshold)
    else:
        lead[tolerant[split]] = 0.0
    bits = 8.0 * connection.payload_bytes
    most = np.minimum(connection.rate_bps, carried_bps)
    low, high = np.zeros(splits), most
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        late = fraction * _at_least(threshold[split], lead * (rate / bits)[split])
        reordered = np.bincount(split, weights=late, minlength=splits)
        event = np.clip(1 - (1 - lost) * (1 - reordered), 0.0, 1 - 1e-9)
        response = mathis(np.maximum(rtt, 1e-9), event, mss_bytes=connection.payload_bytes)
        enough = response >= rate
        low, high = np.where(enough, rate, low), np.where(enough, high, rate)
    # Where neither loss nor reordering limits the rate, the bisection ends a rounding below the most.
    return np.where(high == most, most, low)


def path_losses(candidates: Candidates) -> Floats:
    """The ratio of packets lost on each path; 0 where the topology does not say."""
    links = candidates.network.topology.links
    kept = np.log1p([-(link.loss or 0.0) for link in links])
    losses: Floats = -np.expm1(candidates.sums(kept))
    return losses


def _lead(delay_s: Floats, fraction: Floats, start: Integers, split: Integers) -> Floats:
    """For each path ``sum_s x_s max(0, d - d_s)`` over the paths of its split: by sorting, not pair by pair."""
    order = np.lexsort((delay_s, split))
    share, moment = np.cumsum(fraction[order]), np.cumsum((fraction * delay_s)[order])
    first = start[split[order]]
    before = np.concatenate(([0.0], share))[first], np.concatenate(([0.0], moment))[first]
    lead = np.empty(len(delay_s))
    lead[order] = delay_s[order] * (share - before[0]) - (moment - before[1])
    return np.where(lead > 1e-15, lead, 0.0)


def _at_least(threshold: Integers, mean: Floats) -> Floats:
    """The probability that a Poisson number is at least a threshold of each."""
    term = np.exp(-mean)
    below = term.copy()
    small = np.ones(len(mean))
    for count in range(1, int(threshold.max(initial=1)) + 1):
        term = term * mean / count
        below += np.where(count < threshold, term, 0.0)
        small = np.where(count <= threshold, small * mean / count, small)
    # For small means, the difference would be rounding.
    return np.where(mean < 1e-4, small, 1 - below)
