//! Protective load balancing (Qureshi et al., SIGCOMM 2022), as Linux 6.2 has it (`net/ipv4/tcp_plb.c`): a flow keeps its value until several rounds
//! in succession had many marks, or until a timeout.

use super::{EntropyPolicy, Feedback};
use crate::parameters::Share;
use crate::rng::{Sequence, Stream};
use crate::units::{Duration, Time};

crate::parameters! {
    /// When a flow changes its value. Names in brackets are Linux's sysctls.
    pub struct Parameters {
        /// Congested rounds in succession after which the value changes (`tcp_plb_rehash_rounds`).
        pub rounds: u32 = 12, in 1..=31;
        /// Share of marks from which a round is congested (`tcp_plb_cong_thresh`, 128 of 256).
        pub congested: Share = Share(0.5), in 0.0..=1.0;
        /// How long the value stays after a timeout, so that the flow does not move in a failure that moves all (`tcp_plb_suspend_rto_sec`, drawn from one to two times this).
        pub suspend: Duration = Duration::from_secs(60);
    }
}

/// The state of a flow.
#[derive(Debug, Clone)]
pub struct Plb {
    parameters: Parameters,
    draws: Sequence,
    value: u32,
    round_end: Time,
    answered: u32,
    marked: u32,
    congested_rounds: u32,
    suspended_until: Time,
}

impl Plb {
    /// A new flow.
    pub fn new(parameters: Parameters, draws: Stream) -> Plb {
        let mut draws = Sequence::new(draws);
        let value = draws.below(1 << 16) as u32;
        Plb {
            parameters,
            draws,
            value,
            round_end: Time::ZERO,
            answered: 0,
            marked: 0,
            congested_rounds: 0,
            suspended_until: Time::ZERO,
        }
    }

    fn change(&mut self) {
        self.value = self.draws.below(1 << 16) as u32;
        self.congested_rounds = 0;
    }

    fn end_round(&mut self, now: Time, round_trip: Duration) {
        let is_congested = f64::from(self.marked) >= self.parameters.congested.0 * f64::from(self.answered);
        self.congested_rounds = if is_congested && self.marked > 0 { self.congested_rounds + 1 } else { 0 };
        (self.answered, self.marked) = (0, 0);
        self.round_end = now + round_trip;
        if self.congested_rounds >= self.parameters.rounds && now >= self.suspended_until {
            self.change();
        }
    }
}

impl EntropyPolicy for Plb {
    fn next(&mut self, _now: Time) -> u32 {
        self.value
    }

    fn on_feedback(&mut self, now: Time, round_trip: Duration, _value: u32, feedback: Feedback) {
        self.answered += 1;
        self.marked += u32::from(feedback != Feedback::Good);
        if now >= self.round_end {
            self.end_round(now, round_trip);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.change();
        self.suspended_until = now + self.parameters.suspend.scale(1.0 + self.draws.uniform());
    }
}
