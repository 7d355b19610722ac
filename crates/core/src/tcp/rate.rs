//! Delivery rate estimation (draft-ietf-ccwg-bbr section 4.1): the rate at which the network carried the delivered segments.

use super::events::RateSample;
use super::scoreboard::Delivered;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The flow's state when a segment was (last) sent.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u32,
    in_flight: u32,
    app_limited: bool,
}

/// The sampler of one flow.
#[derive(Debug, Clone, Default)]
pub struct RateSampler {
    /// The segment of the first snapshot.
    base: u32,
    snapshots: VecDeque<Snapshot>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u32,
    /// The flow is application-limited until this number of segments is delivered.
    app_limited_until: Option<u64>,
}

impl RateSampler {
    /// Records that a segment is sent, new or again. `in_flight` counts it, and so does `outstanding`, which includes lost and sacked
    /// segments.
    pub fn on_sent(&mut self, now: Time, segment: u32, in_flight: u32, outstanding: u32) {
        if outstanding == 1 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until.is_some(),
        };
        match self.snapshots.get_mut((segment - self.base) as usize) {
            Some(previous) => *previous = snapshot,
            None => self.snapshots.push_back(snapshot),
        }
    }

    /// Records that the application has nothing to send while the window is open.
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = Some((self.delivered + u64::from(in_flight)).max(1));
    }

    /// Up to this number of delivered segments, samples are limited by the application; zero if they are not.
    pub fn app_limited(&self) -> u64 {
        self.app_limited_until.unwrap_or(0)
    }

    /// Records that segments were marked lost.
    pub fn on_lost(&mut self, segments: u32) {
        self.lost = self.lost.wrapping_add(segments);
    }

    /// An ACK delivered this number of segments, maybe none; `una` is the first segment still outstanding. Without SACK, a duplicate ACK
    /// delivers a segment that it does not name. A copy of a segment that had arrived may count too.
    #[inline(always)] // a sample that is built here and copied as a whole would stall the processor
    pub fn on_ack(
        &mut self,
        now: Time,
        count: u32,
        delivered: &Delivered,
        una: u32,
        min_rtt: Option<Duration>,
    ) -> Option<RateSample> {
        if count > 0 {
            self.delivered += u64::from(count);
            self.delivered_at = now;
        }
        let sample = delivered.newest().and_then(|(sent, segment)| {
            let snapshot = *self.snapshots.get(segment.checked_sub(self.base)? as usize)?;
            let interval = (sent - snapshot.first_sent).max(now - snapshot.delivered_at);
            self.first_sent = sent;
            if self.app_limited_until.is_some_and(|until| self.delivered > until) {
                self.app_limited_until = None;
            }
            // An interval shorter than any round trip is an artefact of the ACK path.
            let plausible = interval > Duration::ZERO && min_rtt.is_none_or(|minimum| interval >= minimum);
            plausible.then(|| RateSample {
                delivered: (self.delivered - snapshot.delivered) as u32,
                interval,
                prior_delivered: snapshot.delivered,
                total_delivered: self.delivered,
                app_limited: snapshot.app_limited,
                sent_in_flight: snapshot.in_flight,
                lost: self.lost.wrapping_sub(snapshot.lost),
                total_lost: self.lost,
            })
        });
        if una > self.base {
            self.pass(una);
        }
        sample
    }

    /// Records that all segments below `una` are acknowledged.
    #[inline(never)]
    fn pass(&mut self, una: u32) {
        let passed = ((una - self.base) as usize).min(self.snapshots.len());
        self.snapshots.drain(..passed);
        self.base = una;
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;

    #[test]
    fn a_steady_flow_shows_its_rate() {
        let mut board = Scoreboard::default();
        let mut sampler = RateSampler::default();
        let millisecond = Duration::from_millis(1);
        let mut last = None;
        for step in 0..100u64 {
            let now = Time::ZERO + millisecond * step;
            if step >= 10 {
                let delivered = board.acknowledge(board.una() + 1, &[], now);
                last = sampler.on_ack(now, delivered.count, &delivered, board.una(), Some(millisecond * 10));
            }
            let segment = board.next();
            board.send_new(now);
            sampler.on_sent(now, segment, board.in_flight(), board.outstanding());
        }
        let sample = last.unwrap();
        assert_eq!(sample.interval, millisecond * 10);
        assert_eq!((sample.delivered, sample.sent_in_flight, sample.app_limited), (10, 10, false));
    }

    #[test]
    fn without_sack_what_duplicate_acks_deliver_counts_as_well() {
        let mut board = Scoreboard::default();
        let mut sampler = RateSampler::default();
        let millisecond = |count: u64| Time::ZERO + Duration::from_millis(count);
        for segment in 0..10 {
            board.send_new(millisecond(0));
            sampler.on_sent(millisecond(0), segment, board.in_flight(), board.outstanding());
        }
        // 0 is lost: nine duplicate ACKs, then its retransmission's passes all ten.
        for time in 10..19 {
            let delivered = board.acknowledge(0, &[], millisecond(time));
            board.count_duplicate();
            assert_eq!(sampler.on_ack(millisecond(time), 1, &delivered, board.una(), None), None);
        }
        board.mark_lost(0);
        board.retransmit(0, millisecond(20));
        sampler.on_sent(millisecond(20), 0, board.in_flight(), board.outstanding());
        let delivered = board.acknowledge(10, &[], millisecond(30));
        let count = delivered.count - board.eat_duplicates(10);
        let sample = sampler.on_ack(millisecond(30), count, &delivered, board.una(), None).unwrap();
        assert_eq!(sample.total_delivered, 10);
    }
}
