//! HyStart++ (RFC 9406): slow start that ends when the least RTT of a round rises. A phase of slower growth follows, Conservative
//! Slow Start (CSS), which ends in slow start if the RTT falls again.

use crate::tcp::events::AckEvent;
use crate::units::Duration;

crate::parameters! {
    /// HyStart++'s constants.
    pub struct Parameters {
        /// The least rise of a round's minimum RTT that ends slow start (RFC 9406 section 4.3, MIN_RTT_THRESH: 4 ms).
        pub min_rtt_threshold: Duration = Duration::from_millis(4);
        /// The greatest rise that is waited for (RFC 9406 section 4.3, MAX_RTT_THRESH: 16 ms).
        pub max_rtt_threshold: Duration = Duration::from_millis(16);
        /// Between those two, the rise is the previous round's minimum RTT over this (RFC 9406 section 4.3,
        /// MIN_RTT_DIVISOR: 8).
        pub min_rtt_divisor: u32 = 8, in 1..=1_000_000;
        /// RTT samples that a round needs before it is judged (RFC 9406 section 4.3, N_RTT_SAMPLE: 8).
        pub rtt_samples: u32 = 8, in 1..=1_000_000;
        /// By how much the conservative phase grows more slowly (RFC 9406 section 4.3, CSS_GROWTH_DIVISOR: 4).
        pub css_growth_divisor: f64 = 4.0, in 2.0..=1_000_000.0;
        /// Rounds of the conservative phase (RFC 9406 section 4.3, CSS_ROUNDS: 5).
        pub css_rounds: u32 = 5, in 1..=1_000_000;
        /// The most segments that one ACK counts for (RFC 9406 section 4.3, L: 8 without pacing, infinite with it).
        pub limit: u32 = 8, in 1..=1_000_000;
    }
}

/// The rise of the minimum RTT over the last round's that ends slow start (RFC 9406 section 4.2: RttThresh).
pub fn rtt_threshold(last_round: Duration, least: Duration, most: Duration, divisor: u32) -> Duration {
    Duration(last_round.0 / u64::from(divisor)).min(most).max(least)
}

/// Window after `growth` segments were acknowledged; `divisor` is 1 in slow start, CSS_GROWTH_DIVISOR in the conservative
/// phase (RFC 9406 section 4.2).
pub fn grow(cwnd: f64, growth: u32, limit: u32, divisor: f64) -> f64 {
    cwnd + f64::from(growth.min(limit)) / divisor
}

/// The conservative phase.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Conservative {
    /// The minimum RTT of the round that began it; a lower one shows that it was spurious.
    baseline: Duration,
    /// Rounds of it that have ended; the one in which it began counts.
    rounds: u32,
}

/// HyStart++'s state.
#[derive(Debug, Clone)]
pub struct HyStart {
    parameters: Parameters,
    last_round: Option<Duration>,
    current_round: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStart {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters) -> HyStart {
        HyStart { parameters, last_round: None, current_round: None, samples: 0, conservative: None }
    }

    /// Takes an ACK of the initial slow start; sets `ssthresh` when the conservative phase has run its course.
    pub fn on_ack(&mut self, cwnd: &mut f64, ssthresh: &mut f64, ack: &AckEvent) {
        let divisor = if self.conservative.is_some() { self.parameters.css_growth_divisor } else { 1.0 };
        *cwnd = grow(*cwnd, ack.growth, self.parameters.limit, divisor);
        if ack.round_start && self.end_round() {
            *ssthresh = *cwnd;
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.current_round = Some(self.current_round.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if self.samples >= self.parameters.rtt_samples {
            self.judge();
        }
    }

    /// Begins a round; whether the conservative phase is over.
    fn end_round(&mut self) -> bool {
        self.last_round = self.current_round.take();
        self.samples = 0;
        self.conservative.as_mut().is_some_and(|phase| {
            phase.rounds += 1;
            phase.rounds >= self.parameters.css_rounds
        })
    }

    fn judge(&mut self) {
        let Some(current) = self.current_round else { return };
        match (self.conservative, self.last_round) {
            (Some(phase), _) if current < phase.baseline => self.conservative = None,
            (None, Some(last)) => {
                let Parameters { min_rtt_threshold: least, max_rtt_threshold: most, min_rtt_divisor, .. } =
                    self.parameters;
                if current >= last + rtt_threshold(last, least, most, min_rtt_divisor) {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SlowStartSpec, classic};
    use super::*;
    use crate::tcp::congestion::FlowContext;
    use crate::tcp::congestion::loss_based::newreno::{self, NewReno};
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    use crate::units::Time;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn rfc9406_section_4_2_the_threshold_is_an_eighth_within_4_and_16_ms() {
        let threshold = |last| rtt_threshold(last, ms(4), ms(16), 8);
        assert_eq!(threshold(ms(10)), ms(4));
        assert_eq!(threshold(ms(80)), ms(10));
        assert_eq!(threshold(ms(300)), ms(16));
    }

    #[test]
    fn rfc9406_section_4_2_an_ack_counts_for_l_segments_and_a_quarter_of_them_in_css() {
        assert_eq!(grow(10.0, 20, 8, 1.0), 18.0);
        assert_eq!(grow(10.0, 20, 8, 4.0), 12.0);
        assert_eq!(grow(10.0, 3, 8, 4.0), 10.75);
    }

    /// Rounds of ten ACKs each, all with one RTT.
    struct Rounds {
        state: HyStart,
        cwnd: f64,
        ssthresh: f64,
    }

    impl Rounds {
        fn new() -> Rounds {
            Rounds { state: HyStart::new(Parameters::default()), cwnd: 10.0, ssthresh: f64::INFINITY }
        }

        /// Takes a round and returns by how much the window grew; none once slow start is over.
        fn round(&mut self, rtt: Duration, acks: u32) -> f64 {
            let before = self.cwnd;
            for index in 0..acks {
                let ack = AckEvent {
                    now: Time::ZERO,
                    delivered: 1,
                    cumulative: 1,
                    growth: 1,
                    may_grow: 1,
                    advanced: true,
                    duplicate: false,
                    newly_lost: 0,
                    prior_in_flight: 10,
                    in_flight: 9,
                    outstanding: 9,
                    rtt: Some(rtt),
                    rate: None,
                    round_start: index == 0,
                    in_recovery: false,
                    ecn_echo: false,
                    marked: 0,
                };
                if self.ssthresh == f64::INFINITY {
                    self.state.on_ack(&mut self.cwnd, &mut self.ssthresh, &ack);
                }
            }
            self.cwnd - before
        }
    }

    #[test]
    fn rfc9406_section_4_2_css_begins_at_the_eighth_sample_and_ends_after_five_rounds() {
        let mut rounds = Rounds::new();
        assert_eq!(rounds.round(ms(40), 10), 10.0);
        assert_eq!(rounds.round(ms(44), 10), 10.0); // below the threshold of 5 ms
        assert_eq!(rounds.round(ms(50), 10), 8.0 + 2.0 / 4.0); // 44 + 5.5 ms is passed: eight at full growth, two in CSS
        for _ in 0..4 {
            assert_eq!(rounds.round(ms(50), 10), 10.0 / 4.0);
        }
        assert_eq!(rounds.ssthresh, f64::INFINITY); // the round that began it is the first of five
        assert_eq!(rounds.round(ms(50), 10), 1.0 / 4.0);
        assert_eq!(rounds.ssthresh, rounds.cwnd);
    }

    #[test]
    fn rfc9406_section_4_2_a_lower_rtt_in_css_resumes_slow_start() {
        let mut rounds = Rounds::new();
        rounds.round(ms(40), 10);
        rounds.round(ms(50), 10);
        assert_eq!(rounds.round(ms(49), 10), 8.0 / 4.0 + 2.0);
        assert_eq!(rounds.round(ms(49), 10), 10.0);
        (0..10).for_each(|_| assert_eq!(rounds.round(ms(49), 10), 10.0));
        assert_eq!(rounds.ssthresh, f64::INFINITY);
    }

    #[test]
    fn rfc9406_section_4_2_rounds_of_fewer_than_eight_samples_are_not_judged() {
        let mut rounds = Rounds::new();
        rounds.round(ms(40), 10);
        assert_eq!(rounds.round(ms(90), 7), 7.0);
        assert_eq!(rounds.round(ms(90), 10), 10.0); // nor compared with the round before the last
    }

    #[test]
    fn it_overshoots_a_deep_queue_by_a_quarter_instead_of_the_whole() {
        let path = Path { rate: 1000.0, delay: ms(100), buffer: 300.0, loss: 0.0 };
        let lost = |slow_start| {
            let flow = FlowContext { slow_start, ..flow(1) };
            let mut bench = Bench::new(NewReno::new(newreno::Parameters::default(), flow), path);
            let observed = bench.run(4.0);
            observed.loss_ratio * observed.goodput * 4.0
        };
        let whole = path.rate * path.delay.as_secs() + path.buffer;
        let classic = lost(SlowStartSpec::Classic(classic::Parameters {}));
        assert!((0.9 * whole..=1.1 * whole).contains(&classic), "{classic}"); // growth in a round of a window that just fits
        let hystart = lost(SlowStartSpec::HyStart(Parameters::default()));
        assert!((0.2 * whole..=0.3 * whole).contains(&hystart), "{hystart}");
    }
}
