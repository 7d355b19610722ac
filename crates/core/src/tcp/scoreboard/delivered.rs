//! Segments that one ACK delivered, for detectors and samplers.

use super::segment::{IN_FLIGHT, Segment};
use crate::units::{Duration, Time};

/// Segments that one ACK delivered. An absent value is the greatest number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivered {
    /// Segments that the cumulative acknowledgement passed, delivered before or now.
    pub cumulative: u32,
    /// Segments newly known to be delivered, cumulatively or selectively.
    pub count: u32,
    newest_sent: Time,
    oldest_rtt: Duration,
    newest_rtt: Duration,
    newest_segment: u32,
    lowest_original: u32,
    highest_original: u32,
    lowest_late: u32,
    /// Whether the newest one's segment was sent more than once.
    pub newest_retransmitted: bool,
    /// Whether a segment was delivered that was sent more than once.
    pub any_retransmitted: bool,
    /// Whether a segment newly delivered was sent only once and lies below one that an earlier ACK delivered: reordering.
    pub reordered: bool,
    /// Only for a sender that judges episodes by it.
    pub(in crate::tcp) evidence: Option<Evidence>,
}

/// Information of an ACK about the transmissions that it delivered. Ambiguous transmissions are left out
/// ([`super::order::Doubt`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::tcp) struct Evidence {
    /// The transmission sent last, and its segment.
    pub newest: (Time, u32),
    /// The time that the highest segment took; a segment that the cumulative acknowledgement passed counts before others.
    pub rtt: Duration,
    highest: u32,
    is_passed: bool,
}

const NO_RTT: Duration = Duration(u64::MAX);
const NO_SEGMENT: u32 = u32::MAX;

impl Default for Delivered {
    fn default() -> Delivered {
        Delivered {
            cumulative: 0,
            count: 0,
            newest_sent: Time::NEVER,
            oldest_rtt: NO_RTT,
            newest_rtt: NO_RTT,
            newest_segment: NO_SEGMENT,
            lowest_original: NO_SEGMENT,
            highest_original: NO_SEGMENT,
            lowest_late: NO_SEGMENT,
            newest_retransmitted: false,
            any_retransmitted: false,
            reordered: false,
            evidence: None,
        }
    }
}

impl Delivered {
    /// The newest of the newly delivered transmissions, by (time, segment): its time and its segment.
    #[inline]
    pub fn newest(&self) -> Option<(Time, u32)> {
        (self.newest_segment != NO_SEGMENT).then_some((self.newest_sent, self.newest_segment))
    }

    /// RTT of the oldest delivered segment that was sent only once, which RFC 6298 uses as its sample.
    #[inline]
    pub fn oldest_rtt(&self) -> Option<Duration> {
        (self.oldest_rtt != NO_RTT).then_some(self.oldest_rtt)
    }

    /// RTT of the newest delivered segment sent only once: the network's, without a delayed ACK's wait.
    #[inline]
    pub fn newest_rtt(&self) -> Option<Duration> {
        (self.newest_rtt != NO_RTT).then_some(self.newest_rtt)
    }

    /// The lowest segment newly delivered that was sent only once.
    #[inline]
    pub fn lowest_original(&self) -> Option<u32> {
        (self.lowest_original != NO_SEGMENT).then_some(self.lowest_original)
    }

    /// The lowest segment newly delivered that was sent only once and that one above had overtaken.
    #[inline]
    pub(in crate::tcp) fn lowest_late(&self) -> Option<u32> {
        (self.lowest_late != NO_SEGMENT).then_some(self.lowest_late)
    }

    /// The highest segment newly delivered that was sent only once.
    #[inline]
    pub fn highest_original(&self) -> Option<u32> {
        (self.highest_original != NO_SEGMENT).then_some(self.highest_original)
    }

    /// A single segment in order, sent once, then; with evidence for a sender that judges episodes by it.
    #[inline]
    pub(in crate::tcp) fn one_original(segment: u32, sent: Time, now: Time, with_evidence: bool) -> Delivered {
        let evidence = Evidence { newest: (sent, segment), rtt: now - sent, highest: segment, is_passed: true };
        Delivered {
            cumulative: 1,
            evidence: with_evidence.then_some(evidence),
            ..Delivered::first(segment, Segment::new(sent, IN_FLIGHT), now, false)
        }
    }

    /// A segment that was last sent, not for the first time, then.
    #[cfg(test)]
    pub(in crate::tcp) fn retransmission(segment: u32, sent: Time) -> Delivered {
        Delivered::first(segment, Segment::new(sent, super::segment::RETRANSMITTED), sent, false)
    }

    /// The result of most ACKs: a single delivered segment, or the first of several. The cumulative acknowledgement has
    /// passed none yet.
    #[inline(always)]
    pub(super) fn first(index: u32, segment: Segment, now: Time, reordered: bool) -> Delivered {
        let is_original = !segment.retransmitted();
        let rtt = if is_original { now - segment.sent() } else { NO_RTT };
        let original = if is_original { index } else { NO_SEGMENT };
        Delivered {
            cumulative: 0,
            count: 1,
            newest_sent: segment.sent(),
            oldest_rtt: rtt,
            newest_rtt: rtt,
            newest_segment: index,
            lowest_original: original,
            highest_original: original,
            lowest_late: if reordered { original } else { NO_SEGMENT },
            newest_retransmitted: !is_original,
            any_retransmitted: !is_original,
            reordered: is_original && reordered,
            evidence: None,
        }
    }

    /// Forgets the RTTs: only segments recorded later count.
    pub(super) fn forget_rtt(&mut self) {
        (self.oldest_rtt, self.newest_rtt) = (NO_RTT, NO_RTT);
    }

    /// Records the delivery of a segment as evidence. Call it first for segments that the cumulative acknowledgement
    /// passes.
    pub(super) fn add_evidence(&mut self, index: u32, segment: Segment, now: Time, is_passed: bool) {
        let newest = (segment.sent(), index);
        let own = Evidence { newest, rtt: now - segment.sent(), highest: index, is_passed };
        let evidence = self.evidence.get_or_insert(own);
        evidence.newest = evidence.newest.max(newest);
        if evidence.is_passed == is_passed && evidence.highest < index {
            (evidence.rtt, evidence.highest) = (own.rtt, index);
        }
    }

    pub(super) fn add(&mut self, index: u32, segment: Segment, now: Time, reordered: bool) {
        if self.count == 0 {
            *self = Delivered { cumulative: self.cumulative, ..Delivered::first(index, segment, now, reordered) };
            return;
        }
        self.count += 1;
        if (segment.sent(), index) >= (self.newest_sent, self.newest_segment) {
            (self.newest_sent, self.newest_segment) = (segment.sent(), index);
            self.newest_retransmitted = segment.retransmitted();
        }
        if segment.retransmitted() {
            self.any_retransmitted = true;
        } else {
            let rtt = now - segment.sent();
            self.oldest_rtt = self.oldest_rtt().map_or(rtt, |oldest| oldest.max(rtt));
            self.newest_rtt = self.newest_rtt.min(rtt);
            self.lowest_original = self.lowest_original.min(index);
            self.highest_original = self.highest_original().map_or(index, |highest| highest.max(index));
            self.reordered |= reordered;
            if reordered {
                self.lowest_late = self.lowest_late.min(index);
            }
        }
    }
}
