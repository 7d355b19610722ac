//! Linux's detection of policers by BBR ("long-term bandwidth", `bbr_lt_bw_sampling` in net/ipv4/tcp_bbr.c).
//!
//! A token bucket drops packets that exceed its rate. BBR takes two consecutive intervals with many losses and the same delivery rate
//! for a policer. BBR then paces at that rate, and does not probe, for 48 rounds. A full drop-tail queue looks the same.

use crate::units::{Duration, Time};

/// Rounds that an interval has at least; with more than four times as many it is too long.
const LEAST_ROUNDS: u32 = 4;

/// Lost segments per delivered one that make an interval lossy: 50 of 256.
const LOSSY: (u64, u64) = (50, 256);

/// Two rates are the same if they differ by an eighth of the first, or by 4 kbit/s of payload.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BPS: f64 = 4000.0;

/// The clock of intervals.
const TICK: Duration = Duration::from_millis(1);

/// Rounds for which the rate is used.
const ROUNDS_OF_USE: u32 = 48;

/// The flow's counters up to an event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// When something was last delivered.
    pub now: Time,
    /// Segments delivered.
    pub delivered: u64,
    /// Segments marked as lost (modulo 2^32).
    pub lost: u32,
}

/// Input from an ACK or from an expiry of the retransmission timer.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// The totals, with this event.
    pub totals: Totals,
    /// Whether the event reveals a loss.
    pub loses: bool,
    /// Whether the application was the limit.
    pub app_limited: bool,
    /// Whether the event ends a round.
    pub round_start: bool,
}

/// Detection in one flow.
#[derive(Debug, Clone, Default)]
pub struct Policer {
    /// Whether a loss has begun the first interval.
    sampling: bool,
    /// When the interval began.
    began: Totals,
    /// Rounds of the interval, or of use.
    rounds: u32,
    /// Bandwidth of the last interval, or the bandwidth in use, segments per second; zero if there is none.
    bandwidth: f64,
    in_use: bool,
}

impl Policer {
    /// The rate to use instead of the measured bandwidth, segments per second.
    #[inline]
    pub fn bandwidth(&self) -> Option<f64> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Takes evidence while no policer is known. `payload` is a segment's, bytes.
    pub fn sample(&mut self, evidence: &Evidence, payload: u32) {
        let Evidence { totals, loses, app_limited, round_start } = *evidence;
        if !self.sampling {
            if !loses {
                return; // the bucket still has tokens
            }
            self.sampling = true;
            self.begin(totals);
        }
        if app_limited {
            return *self = Policer::default();
        }
        self.rounds += u32::from(round_start);
        if self.rounds < LEAST_ROUNDS {
            return;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            return *self = Policer::default();
        }
        let delivered = totals.delivered - self.began.delivered;
        let lost = u64::from(totals.lost.wrapping_sub(self.began.lost));
        let is_lossy = delivered > 0 && lost * LOSSY.1 >= LOSSY.0 * delivered;
        let ticks = totals.now.0 / TICK.0 - self.began.now.0 / TICK.0;
        if loses && is_lossy && ticks > 0 {
            self.end(totals, delivered as f64 / (TICK * ticks).as_secs(), payload);
        }
    }

    fn begin(&mut self, totals: Totals) {
        (self.began, self.rounds) = (totals, 0);
    }

    /// Ends the interval with this rate.
    fn end(&mut self, totals: Totals, bandwidth: f64, payload: u32) {
        let difference = (bandwidth - self.bandwidth).abs();
        let is_same = difference <= SAME_SHARE * self.bandwidth || difference * 8.0 * f64::from(payload) <= SAME_BPS;
        if self.bandwidth > 0.0 && is_same {
            self.bandwidth = (self.bandwidth + bandwidth) / 2.0;
            (self.in_use, self.rounds) = (true, 0);
        } else {
            self.bandwidth = bandwidth;
            self.begin(totals);
        }
    }

    /// Ends a round while the rate is in use. Returns whether the use is over.
    pub fn end_round_of_use(&mut self) -> bool {
        self.rounds += 1;
        let is_over = self.rounds >= ROUNDS_OF_USE;
        if is_over {
            *self = Policer::default();
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms in which `delivered` segments arrive and `lost` are lost, one ACK each; the bandwidth in use after each.
    fn after_rounds(policer: &mut Policer, totals: &mut Totals, rounds: &[(u64, u32)]) -> Vec<Option<f64>> {
        let mut round = |&(delivered, lost): &(u64, u32)| {
            totals.now += Duration::from_millis(100);
            totals.delivered += delivered;
            totals.lost += lost;
            let loses = lost > 0;
            policer.sample(&Evidence { totals: *totals, loses, app_limited: false, round_start: true }, 1448);
            policer.bandwidth()
        };
        rounds.iter().map(&mut round).collect()
    }

    fn detected(rounds: &[(u64, u32)]) -> Option<usize> {
        after_rounds(&mut Policer::default(), &mut Totals::default(), rounds).iter().position(Option::is_some)
    }

    /// 80 segments in 100 ms are 800 a second. An interval has four rounds; the first one counts the round of the loss that begins it.
    #[test]
    fn two_lossy_intervals_of_the_same_rate_are_a_policer() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        let used = after_rounds(&mut policer, &mut totals, &[(80, 20); 12]);
        assert_eq!(used.iter().position(Option::is_some), Some(7));
        assert_eq!(used[7], Some(800.0));
    }

    #[test]
    fn less_than_50_lost_per_256_delivered_are_no_policer() {
        assert_eq!(detected(&[(256, 50); 16]), Some(7));
        assert_eq!(detected(&[(256, 49); 16]), None);
    }

    /// The first interval has three rounds after its first ACK and the second four, so that their rates are exact.
    #[test]
    fn rates_that_differ_by_more_than_an_eighth_are_no_policer() {
        let second = |delivered| [[(80, 20); 4], [(delivered, 50); 4]].concat();
        assert_eq!(detected(&second(90)), Some(7));
        assert_eq!(detected(&second(91)), None);
    }

    #[test]
    fn an_application_that_pauses_begins_detection_anew() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        after_rounds(&mut policer, &mut totals, &[(80, 20); 7]);
        policer.sample(&Evidence { totals, loses: false, app_limited: true, round_start: false }, 1448);
        let used = after_rounds(&mut policer, &mut totals, &[(80, 20); 8]);
        assert_eq!(used.iter().position(Option::is_some), Some(7));
    }

    #[test]
    fn the_rate_is_used_for_48_rounds() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        after_rounds(&mut policer, &mut totals, &[(80, 20); 8]);
        let rounds = (1..).find(|_| policer.end_round_of_use());
        assert_eq!((rounds, policer.bandwidth()), (Some(48), None));
    }
}
